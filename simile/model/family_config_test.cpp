// SPDX-License-Identifier: Apache-2.0
// The families' config.json files, key by key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/model/encoder_config.h"

namespace simile {
namespace {

using detail::Json;
using testing::HasSubstr;

const char* const kSizes =
    R"("num_hidden_layers": 4, "hidden_size": 32, "num_attention_heads": 4, "vocab_size": 60000,
       "intermediate_size": 64, "max_position_embeddings": 130)";
const char* const kDistilbert =
    R"({"model_type": "distilbert", "n_layers": 2, "dim": 32, "n_heads": 4, "vocab_size": 99,
        "hidden_dim": 64, "max_position_embeddings": 20, "dropout": 0.3})";
const char* const kNomic =
    R"({"model_type": "nomic_bert", "n_layer": 2, "n_embd": 32, "n_head": 4, "vocab_size": 99,
        "n_inner": 300, "n_positions": 2048, "activation_function": "swiglu",
        "rotary_emb_fraction": 1.0, "rotary_emb_base": 1000})";

// The family's smallest config with one member replaced or added; an empty value takes it away.
EncoderConfig parse(const std::string& family, const std::string& key = "",
                    const std::string& value = "") {
  std::string text = "{\"model_type\": \"" + family + "\", " + kSizes + "}";
  if (family == "distilbert") text = kDistilbert;
  if (family == "nomic_bert") text = kNomic;
  Json json = Json::parse(text);
  if (value.empty()) {
    json.erase(key);
  } else {
    json[key] = Json::parse(value);
  }
  return parse_encoder_config(json.dump(), "config.json");
}

TEST(FamilyConfig, AbsentKeysHaveTheFamilysDefaults) {
  const EncoderConfig roberta = parse("roberta");
  EXPECT_EQ(roberta.pad_token_id, 1);
  EXPECT_EQ(roberta.variant.position_offset, 2);
  EXPECT_EQ(roberta.shape().longest_sequence(), 128);
  for (const char* same : {"xlm-roberta", "camembert"}) {
    EXPECT_EQ(parse(same).shape().longest_sequence(), 128) << same;
  }
  EXPECT_EQ(parse("roberta", "pad_token_id", "0").shape().longest_sequence(), 129);

  const EncoderConfig distilbert = parse("distilbert");
  EXPECT_EQ(distilbert.types, 0);
  EXPECT_EQ(distilbert.layer_norm_eps, 1e-12);
  EXPECT_EQ(distilbert.hidden_dropout, 0.3);
  EXPECT_EQ(distilbert.attention_dropout, 0.1);
  EXPECT_FALSE(distilbert.variant.attended_dropout);

  const EncoderConfig mpnet = parse("mpnet");
  EXPECT_EQ(mpnet.types, 0);
  EXPECT_EQ(mpnet.variant.relative_buckets, 32);
  EXPECT_EQ(mpnet.shape().longest_sequence(), 128);

  const EncoderConfig electra = parse("electra");
  EXPECT_EQ(electra.shape().embedding_size(), 128);
  EXPECT_TRUE(electra.variant.projected);
  EXPECT_FALSE(parse("electra", "embedding_size", "32").variant.projected);

  const EncoderConfig albert = parse("albert");
  EXPECT_EQ(albert.variant.activation, Activation::kGeluTanh);
  EXPECT_EQ(albert.shape().stored_layers(), 1);
  EXPECT_EQ(albert.hidden_dropout, 0);
  EXPECT_TRUE(parse("albert", "embedding_size", "32").variant.projected);
}

TEST(FamilyConfig, ModernBertIsReadInBothSpellings) {
  const EncoderConfig old = parse("modernbert");
  EXPECT_EQ(old.layer_norm_eps, 1e-5);
  EXPECT_EQ(old.variant.rotary_base, 160000.0f);
  EXPECT_EQ(old.variant.local_rotary_base, 10000.0f);
  EXPECT_EQ(old.variant.local_window, 64);
  EXPECT_EQ(old.variant.global_every, 3);
  EXPECT_FALSE(old.variant.norm_bias);
  EXPECT_EQ(old.shape().longest_sequence(), 130);
  EXPECT_EQ(parse("modernbert", "local_rope_theta", "null").variant.local_rotary_base, 160000.0f);
  EXPECT_EQ(parse("modernbert", "local_attention", "9").variant.local_window, 4);
  EXPECT_EQ(parse("modernbert", "sliding_window", "3").variant.local_window, 3);

  const EncoderConfig rope =
      parse("modernbert", "rope_parameters",
            R"({"full_attention": {"rope_type": "default", "rope_theta": 500.0},
          "sliding_attention": {"rope_theta": 70}})");
  EXPECT_EQ(rope.variant.rotary_base, 500.0f);
  EXPECT_EQ(rope.variant.local_rotary_base, 70.0f);

  const std::string s = "\"sliding_attention\"", f = "\"full_attention\"";
  struct Case {
    std::string types;
    std::vector<int64_t> global;
  };
  for (const Case& c : {Case{"[" + f + "," + s + "," + f + "," + s + "]", {0, 2}},
                        Case{"[" + f + "," + s + "," + s + "," + f + "]", {0, 3}},
                        Case{"[" + f + "," + s + "," + s + "," + s + "]", {0}},
                        Case{"[" + f + "," + f + "," + f + "," + f + "]", {0, 1, 2, 3}}}) {
    const EncoderShape shape = parse("modernbert", "layer_types", c.types).shape();
    std::vector<int64_t> global;
    for (int64_t i = 0; i < 4; ++i) {
      if (!shape.is_local(i)) global.push_back(i);
    }
    EXPECT_EQ(global, c.global) << c.types;
  }
}

TEST(FamilyConfig, NomicIsRead) {
  const EncoderConfig nomic = parse("nomic_bert");
  EXPECT_TRUE(nomic.variant.gated);
  EXPECT_EQ(nomic.variant.activation, Activation::kSilu);
  EXPECT_EQ(nomic.intermediate, 512);  // the model's own code rounds up to a multiple of 256
  EXPECT_EQ(nomic.variant.rotary_base, 1000.0f);
  EXPECT_TRUE(nomic.variant.attention_bias);
  EXPECT_FALSE(parse("nomic_bert", "qkv_proj_bias", "false").variant.attention_bias);
  EXPECT_EQ(parse("nomic_bert", "pad_vocab_size_multiple", "64").vocabulary, 128);
  const EncoderConfig plain = parse("nomic_bert", "activation_function", "\"gelu\"");
  EXPECT_FALSE(plain.variant.gated);
  EXPECT_EQ(plain.intermediate, 300);
  // By erf whatever it is called, unlike elsewhere.
  EXPECT_EQ(parse("nomic_bert", "activation_function", "\"gelu_new\"").variant.activation,
            Activation::kGelu);
  EXPECT_EQ(parse("bert", "hidden_act", "\"gelu_new\"").variant.activation, Activation::kGeluTanh);
}

TEST(FamilyConfig, NomicIsReadAsTransformersWritesIt) {
  const auto read = [](const std::string& more) {
    return parse_encoder_config(
        R"({"model_type": "nomic_bert", "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99, "layer_norm_eps": 1e-9,
        "max_position_embeddings": 130, "hidden_dropout_prob": 0.1)" +
            more + "}",
        "config.json");
  };
  const EncoderConfig config =
      read(R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "head_dim": 8)");
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.intermediate, 64);  // not rounded up
  EXPECT_EQ(config.layer_norm_eps, 1e-9);
  EXPECT_EQ(config.hidden_dropout, 0.1);
  EXPECT_EQ(config.variant.rotary_base, 500.0f);
  EXPECT_TRUE(config.variant.gated);
  EXPECT_EQ(config.variant.activation, Activation::kSilu);
  EXPECT_FALSE(config.variant.attention_bias || config.variant.up_bias || config.variant.down_bias);
  EXPECT_EQ(read("").variant.rotary_base, 1000.0f);
  EXPECT_EQ(read(R"(, "hidden_act": "gelu")").variant.activation, Activation::kGelu);
  const EncoderConfig again = parse_encoder_config(encoder_config_to_json(config), "config.json");
  EXPECT_EQ(again.intermediate, 64);
  EXPECT_EQ(again.variant.rotary_base, 500.0f);
  const auto error = [&](const std::string& more) {
    return error_of(ErrorKind::kInput, [&] { read(more); });
  };
  EXPECT_THAT(error(R"(, "hidden_act": "relu")"), HasSubstr("\"activation_function\" is \"relu\""));
  EXPECT_THAT(error(R"(, "rope_parameters": {"rope_type": "yarn"})"), HasSubstr("\"yarn\""));
  EXPECT_THAT(error(R"(, "head_dim": 16)"), HasSubstr("\"head_dim\" is 16; only 8"));
}

TEST(FamilyConfig, WhatWouldChangeTheNumbersIsNamed) {
  struct Case {
    const char* family;
    const char* key;
    const char* value;
    const char* message;
  };
  const Case cases[] = {
      {"roberta", "position_embedding_type", "\"relative_key\"", "\"position_embedding_type\""},
      {"roberta", "is_decoder", "true", "\"is_decoder\""},
      {"roberta", "max_position_embeddings", "2", "\"max_position_embeddings\" is 2"},
      {"roberta", "pad_token_id", "60000", "\"pad_token_id\" must be"},
      {"xlm-roberta", "hidden_act", "\"mish\"", "\"hidden_act\" is \"mish\""},
      {"camembert", "hidden_size", "", "\"hidden_size\" is missing"},
      {"distilbert", "dim", "", "\"dim\" is missing"},
      {"distilbert", "n_heads", "5", "\"dim\" 32 is not a multiple of \"n_heads\" 5"},
      {"distilbert", "activation", "\"selu\"", "\"activation\" is \"selu\""},
      {"distilbert", "sinusoidal_pos_embds", "3", "\"sinusoidal_pos_embds\" must be"},
      {"mpnet", "relative_attention_num_buckets", "30",
       "\"relative_attention_num_buckets\" must be"},
      {"nomic_bert", "activation_function", "\"relu\"",
       "\"activation_function\" is \"relu\", which is not supported; known: gelu, gelu_new"},
      {"electra", "embedding_size", "0", "\"embedding_size\" must be"},
      {"albert", "num_hidden_groups", "2", "\"num_hidden_groups\" is 2; only 1"},
      {"albert", "inner_group_num", "2", "\"inner_group_num\" is 2; only 1"},
      {"modernbert", "hidden_activation", "\"tanh\"", "\"hidden_activation\" is \"tanh\""},
      {"modernbert", "rope_scaling", "{\"factor\": 2}", "\"rope_scaling\""},
      {"modernbert", "rope_parameters", "{\"full_attention\": {\"rope_type\": \"yarn\"}}",
       "\"rope_type\" is \"yarn\""},
      {"modernbert", "rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 500}",
       "\"rope_parameters\": \"rope_theta\" is number 500: this key is not known; known: "
       "full_attention"},
      {"modernbert", "sliding_window", "0", "\"sliding_window\" must be"},
      {"modernbert", "layer_types", "[\"full_attention\"]", "\"layer_types\""},
      {"modernbert", "num_attention_heads", "32", "rotary positions need an even number"},
      {"modernbert", "layer_types",
       "[\"sliding_attention\", \"full_attention\", \"full_attention\", \"full_attention\"]",
       "\"layer_types\""},
      {"modernbert", "local_attention", "0", "\"local_attention\" must be"},
      {"nomic_bert", "n_embd", "", "\"n_embd\" is missing"},
      {"nomic_bert", "prenorm", "true", "\"prenorm\" is true; only false"},
      {"nomic_bert", "causal", "true", "\"causal\" is true"},
      {"nomic_bert", "use_rms_norm", "true", "\"use_rms_norm\" is true"},
      {"nomic_bert", "parallel_block", "true", "\"parallel_block\" is true"},
      {"nomic_bert", "scale_attn_weights", "false", "\"scale_attn_weights\" is false"},
      {"nomic_bert", "rotary_emb_interleaved", "true", "\"rotary_emb_interleaved\" is true"},
      {"nomic_bert", "rotary_emb_fraction", "", "\"rotary_emb_fraction\" is 0; only 1"},
      {"nomic_bert", "rotary_emb_fraction", "0.5", "\"rotary_emb_fraction\" is 0.5; only 1"},
      {"nomic_bert", "rotary_emb_scale_base", "512", "\"rotary_emb_scale_base\""},
      {"nomic_bert", "rotary_scaling_factor", "2", "\"rotary_scaling_factor\""},
      {"nomic_bert", "moe_every_n_layers", "2", "\"moe_every_n_layers\" is 2"},
      {"nomic_bert", "activation_function", "\"glu\"", "\"activation_function\" is \"glu\""},
  };
  for (const Case& c : cases) {
    try {
      parse(c.family, c.key, c.value);
      ADD_FAILURE() << "accepted " << c.family << " with " << c.key << " = " << c.value;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(c.message));
      EXPECT_THAT(error.what(), HasSubstr("config.json"));
    }
  }
}

TEST(FamilyConfig, SavedConfigsKeepWhatTheyDoNotKnow) {
  EncoderConfig config = parse("modernbert", "classifier_pooling", "\"mean\"");
  config.hidden_dropout = 0.25;
  config.embedding_dropout = -1;
  const Json json = Json::parse(encoder_config_to_json(config));
  EXPECT_EQ(json["classifier_pooling"], "mean");
  EXPECT_EQ(json["mlp_dropout"], 0.25);
  EXPECT_EQ(json["embedding_dropout"], 0.25);
  EXPECT_EQ(json["torch_dtype"], "float32");
  EXPECT_EQ(json["architectures"], Json::array({"ModernBertModel"}));
  EXPECT_FALSE(json.contains("type_vocab_size"));
  const Json newer = Json::parse(encoder_config_to_json(parse("bert", "dtype", "\"float16\"")));
  EXPECT_EQ(newer["dtype"], "float32");
  EXPECT_FALSE(newer.contains("torch_dtype"));
}

TEST(FamilyConfig, AFamilyByHandIsNotSaved) {
  EncoderConfig config = parse("roberta");
  config.document.clear();
  EXPECT_THROW(encoder_config_to_json(config), Error);
}

TEST(FamilyConfig, DropoutStandsWhereTheFamilyHasIt) {
  EncoderConfig config = parse("modernbert");
  config.hidden_dropout = 0.1;
  config.attention_dropout = 0.2;
  config.embedding_dropout = 0.3;
  const EncoderDropout modern = config.dropout();
  EXPECT_EQ(modern.hidden, 0.1f);
  EXPECT_EQ(modern.attention, 0.2f);
  EXPECT_EQ(modern.attended, 0.2f);
  EXPECT_EQ(modern.embedding, 0.3f);
  const EncoderDropout bert = parse("bert").dropout();
  EXPECT_EQ(bert.hidden, 0.1f);
  EXPECT_LT(bert.attended, 0);
  EXPECT_LT(bert.embedding, 0);
}

}  // namespace
}  // namespace simile
