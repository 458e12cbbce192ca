// SPDX-License-Identifier: Apache-2.0
#include "simile/model/encoder_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/error.h"

namespace simile {
namespace {

using testing::HasSubstr;

// A good config with one member replaced or added.
std::string config_with(const std::string& key, const std::string& value) {
  std::string members[] = {"model_type",
                           "\"bert\"",
                           "hidden_size",
                           "32",
                           "num_hidden_layers",
                           "2",
                           "num_attention_heads",
                           "4",
                           "intermediate_size",
                           "64",
                           "vocab_size",
                           "100",
                           "max_position_embeddings",
                           "16"};
  std::string text;
  bool replaced = false;
  for (size_t i = 0; i < std::size(members); i += 2) {
    const bool here = members[i] == key;
    replaced |= here;
    if (here && value.empty()) continue;
    text += (text.empty() ? "\"" : ", \"") + members[i] + "\": " + (here ? value : members[i + 1]);
  }
  if (!replaced && !key.empty()) text += ", \"" + key + "\": " + value;
  return "{" + text + "}";
}

TEST(EncoderConfig, ReadsBertWithItsDefaults) {
  const EncoderConfig config = parse_encoder_config(config_with("", ""), "config.json");
  EXPECT_EQ(config.hidden, 32);
  EXPECT_EQ(config.types, 2);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  const EncoderShape shape = config.shape();
  EXPECT_EQ(shape.layers, 2);
  EXPECT_EQ(shape.head_size(), 8);
  EXPECT_EQ(shape.positions, 16);
  EXPECT_EQ(shape.vocabulary, 100);
}

TEST(EncoderConfig, WrittenConfigIsReadBack) {
  EncoderConfig config = parse_encoder_config(config_with("", ""), "config.json");
  config.hidden_dropout = 0.05;
  config.layer_norm_eps = 1e-5;
  config.pad_token_id = 3;
  const std::string json = encoder_config_to_json(config);
  EXPECT_THAT(json, HasSubstr("\"BertModel\""));
  const EncoderConfig again = parse_encoder_config(json, "config.json");
  EXPECT_EQ(again.hidden_dropout, 0.05);
  EXPECT_EQ(again.layer_norm_eps, 1e-5);
  EXPECT_EQ(again.pad_token_id, 3);
  EXPECT_EQ(encoder_config_to_json(again), json);
}

TEST(EncoderConfig, WhatCannotBeUsedIsNamed) {
  struct Case {
    const char* key;
    const char* value;
    const char* message;
  };
  const Case cases[] = {
      {"model_type", "", "\"model_type\" is missing"},
      {"model_type", "\"t5\"", "is \"t5\"; known: bert"},
      {"model_type", "\"llama\", \"architectures\": [\"LlamaForCausalLM\"]",
       "is \"llama\", a decoder, which writes text; known: bert"},
      {"hidden_size", "", "\"hidden_size\" is missing"},
      {"hidden_size", "0", "\"hidden_size\" must be"},
      {"hidden_size", "-32", "\"hidden_size\" must be"},
      {"hidden_size", "\"32\"", "string \"32\""},
      {"hidden_size", "30", "not a multiple of \"num_attention_heads\" 4"},
      {"num_hidden_layers", "1e3", "\"num_hidden_layers\" must be"},
      {"vocab_size", "99999999999", "\"vocab_size\" must be"},
      {"vocab_size", "18446744073709551615", "\"vocab_size\" must be"},
      {"hidden_act", "\"tanh\"", "\"hidden_act\" is \"tanh\", which is not supported; known: gelu"},
      {"position_embedding_type", "\"relative_key\"", "\"position_embedding_type\""},
      {"is_decoder", "true", "only encoders"},
      {"quantization_config", "{\"quant_method\": \"fp8\"}", "quantised by other programs"},
      {"layer_norm_eps", "0", "\"layer_norm_eps\" must be"},
      {"hidden_dropout_prob", "1.5", "\"hidden_dropout_prob\" must be"},
      {"pad_token_id", "100", "\"pad_token_id\" must be"},
  };
  for (const Case& c : cases) {
    try {
      parse_encoder_config(config_with(c.key, c.value), "config.json");
      ADD_FAILURE() << "accepted " << c.key << " = " << c.value;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(c.message));
      EXPECT_THAT(error.what(), HasSubstr("config.json"));
    }
  }
}

TEST(EncoderConfig, SizesThatMultiplyBeyondReasonAreRefused) {
  EXPECT_THROW(parse_encoder_config(
                   R"({"model_type":"bert","hidden_size":65536,"num_attention_heads":1,
                       "num_hidden_layers":1024,"intermediate_size":262144,"vocab_size":100,
                       "max_position_embeddings":512})",
                   "config.json"),
               Error);
}

}  // namespace
}  // namespace simile
