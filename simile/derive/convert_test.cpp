// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_card.h"
#include "simile/model/model_writer.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

using testing::HasSubstr;

const std::string kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";

class Convert : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "simile_convert_" + std::to_string(getpid()) + info->name() + "/";
    make_folders(root_);
    save_model();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + name; }

  // A model with two poolings, a Dense module, a head and tensors that are no part of the encoder.
  void save_model() {
    ModelToSave model;
    model.settings = SentenceEncoder::load(kGolden, silent_events()).settings();
    const int64_t H = model.settings.encoder.hidden;
    model.settings.pooling.modes = {PoolingMode::kMean, PoolingMode::kMax};
    ModuleSettings dense;
    dense.kind = ModuleKind::kDense;
    dense.inputs = 2 * H;
    dense.outputs = 6;
    dense.activation = "Tanh";
    std::vector<float> numbers(static_cast<size_t>(12 * H + 6));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = 0.1f * static_cast<float>(i % 7) - 0.2f;
    dense.weights = std::make_shared<const std::vector<float>>(numbers);
    model.settings.modules = {dense};
    flat_.resize(static_cast<size_t>(encoder_parameter_count(model.settings.encoder.shape())));
    initialise_encoder_weights(model.settings.encoder, 9, flat_.data());
    model.weights = flat_.data();
    model.tokenizer = read_tokenizer_files(kGolden);
    model.tokenizer["special_tokens_map.json"] = "{\"odd\": 1}";
    model.model_card = "---\nlicense: mit\n---\n# Old card\n";
    const int64_t places[2] = {0, 1};
    model.other_tensors = {{"pooler.dense.bias", {3}, numbers.data()},
                           {"embeddings.position_ids", {1, 2}, places, TensorType::kI64}};
    HeadSettings head;
    head.name = "score";
    model.heads = {{head, numbers.data()}};
    save_model_folder(path("model"), model);
    write_class_scope(path("model"), "score", {0.5, {{1, 0, 0, 0, 0, 0}}});
  }

  ConversionReport convert(const std::string& from, const std::string& to, TensorType type) {
    return convert_model(path(from), path(to), type, silent_events());
  }
  std::string bytes(const std::string& name) const { return read_file(path(name)); }
  std::string fingerprint(const std::string& name) const {
    return model_fingerprint(open_model_folder(path(name), silent_events()));
  }
  Matrix<float> vectors(const std::string& name) const {
    return SentenceEncoder::load(path(name), silent_events())
        .encode({"the cat", "", "the red dog ran under the mat"}, {}, silent_events());
  }

  std::string root_;
  std::vector<float> flat_;
};

TEST_F(Convert, TheSamePrecisionGivesTheSameModel) {
  const ConversionReport report = convert("model", "copy", TensorType::kF32);
  EXPECT_EQ(report.largest_difference, 0);
  EXPECT_NEAR(report.mean_cosine, 1, 1e-12);
  EXPECT_EQ(report.bytes_before, report.bytes_after);
  for (const char* file :
       {"model.safetensors", "config.json", "modules.json", "2_Dense/config.json",
        "2_Dense/model.safetensors", "1_Pooling/config.json", "vocab.txt", "tokenizer_config.json",
        "special_tokens_map.json", "heads/score/model.safetensors", "heads/score/scope.json"}) {
    EXPECT_EQ(bytes(std::string("model/") + file), bytes(std::string("copy/") + file)) << file;
  }
  EXPECT_EQ(vectors("model").values, vectors("copy").values);
  EXPECT_EQ(fingerprint("model"), fingerprint("copy"));
  // A model of another program, without the files that Simile adds.
  convert_model(kGolden, path("golden"), TensorType::kF32, silent_events());
  EXPECT_EQ(model_fingerprint(open_model_folder(kGolden, silent_events())), fingerprint("golden"));
}

TEST_F(Convert, EveryPrecisionPassesItsSelfTestAndStaysWhenConvertedAgain) {
  struct Case {
    TensorType type;
    double size, difference;
  };
  const Case cases[] = {{TensorType::kF32, 1.0, 0},
                        {TensorType::kF16, 0.55, 1e-3},
                        {TensorType::kBf16, 0.55, 1e-2},
                        {TensorType::kI8, 0.45, 3e-2}};
  for (const Case& c : cases) {
    const ConversionReport report = convert("model", "once", c.type);
    EXPECT_LE(static_cast<double>(report.bytes_after),
              c.size * static_cast<double>(report.bytes_before));
    EXPECT_LE(report.largest_difference, c.difference);
    EXPECT_GE(report.least_cosine, 0.99);
    const SentenceEncoder encoder = SentenceEncoder::load(path("once"), silent_events());
    EXPECT_EQ(check_self_test(path("once"), encoder), 0.0);
    EXPECT_EQ(convert("once", "twice", c.type).largest_difference, 0);
    const std::string file = std::string("/") + weight_file_name(c.type);
    EXPECT_EQ(bytes("once" + file), bytes("twice" + file));
    // Made from the rounded weights: as floats it gives the same vectors.
    EXPECT_EQ(convert("once", "floats", TensorType::kF32).largest_difference, 0);
    EXPECT_EQ(vectors("floats").values, vectors("once").values);
    EXPECT_EQ(fingerprint("floats"), fingerprint("once"));
    EXPECT_EQ(fingerprint("once") == fingerprint("model"), c.type == TensorType::kF32);
  }
}

TEST_F(Convert, BytesLieWhereNoOtherProgramTakesThemForFloats) {
  convert("model", "small", TensorType::kI8);
  for (const char* file : {"model.safetensors", "pytorch_model.bin"}) {
    EXPECT_FALSE(file_exists(path("small/") + file));
  }
  // As earlier versions saved them.
  const std::vector<float> expected = vectors("small").values;
  std::filesystem::rename(path("small/simile-int8.safetensors"), path("small/model.safetensors"));
  EXPECT_EQ(vectors("small").values, expected);
}

TEST_F(Convert, BytesWhoseScalesCannotBeAreRefusedByEveryPrecision) {
  convert("model", "small", TensorType::kI8);
  const std::string weights = path("small/simile-int8.safetensors"), intact = read_file(weights);
  const std::string name = "encoder.layer.0.output.dense.weight.scale";
  std::filesystem::remove(path("small/checksums.json"));
  const auto put = [&](float scale) {
    std::string bytes = intact;
    const SafetensorsFile file(weights);
    std::memcpy(bytes.data() + file.find(name)->offset + sizeof scale, &scale, sizeof scale);
    write_file_atomic(weights, bytes);
  };
  for (const float scale : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    put(scale);
    for (const ProductType products : {ProductType::kFloat, ProductType::kByte}) {
      const std::string message = error_of(ErrorKind::kInput, [&] {
        SentenceEncoder::load(path("small"), silent_events(), products);
      });
      EXPECT_THAT(message, testing::AllOf(testing::HasSubstr(name), testing::HasSubstr("row 1")));
    }
  }
  std::string renamed = intact;
  renamed.replace(renamed.find(name), name.size(), std::string(name.size() - 1, 'x') + "y");
  write_file_atomic(weights, renamed);
  EXPECT_THAT(
      error_of(ErrorKind::kInput,
               [&] { SentenceEncoder::load(path("small"), silent_events(), ProductType::kByte); }),
      testing::HasSubstr("I8 with one F32 a row in '" + name + "'"));
}

TEST_F(Convert, TensorsThatAreNoPartOfTheEncoderAreKept) {
  convert("model", "small", TensorType::kI8);
  const SafetensorsFile file(path("small/simile-int8.safetensors"));
  const TensorInfo* pooler = file.find("pooler.dense.bias");
  ASSERT_NE(pooler, nullptr);
  EXPECT_EQ(pooler->type, TensorType::kF32);
  const TensorInfo* places = file.find("embeddings.position_ids");
  ASSERT_NE(places, nullptr);
  EXPECT_EQ(places->type, TensorType::kI64);
  EXPECT_EQ(file.bytes(*places)[8], 1);
  const TensorInfo* word = file.find("embeddings.word_embeddings.weight");
  ASSERT_NE(word, nullptr);
  EXPECT_EQ(word->type, TensorType::kI8);
  EXPECT_NE(file.find("embeddings.word_embeddings.weight.scale"), nullptr);
}

TEST_F(Convert, AModelOfTorchBecomesSafetensors) {
  const std::string bin = SIMILE_SOURCE_DIR "/tests/golden/torch_files/tiny_bert.bin";
  make_folders(path("torch"));
  for (const char* file : {"config.json", "vocab.txt"}) {
    std::filesystem::copy_file(kGolden + "/" + file, path("torch/") + file);
  }
  std::filesystem::copy_file(bin, path("torch/pytorch_model.bin"));
  const std::vector<std::string> texts = {"the cat", "", "the red dog ran under the mat"};
  const std::vector<float> expected =
      SentenceEncoder::load(kGolden, silent_events()).encode(texts, {}, silent_events()).values;
  EXPECT_EQ(vectors("torch").values, expected);
  convert("torch", "converted", TensorType::kF32);
  EXPECT_EQ(vectors("converted").values, expected);
  const SafetensorsFile file(path("converted/model.safetensors"));
  EXPECT_NE(file.find("embeddings.word_embeddings.weight"), nullptr);
  EXPECT_NE(file.find("cls.predictions.bias"), nullptr);
  EXPECT_EQ(file.find("cls.predictions.decoder.weight"), nullptr);  // the word embedding again
}

TEST_F(Convert, TheCardKeepsTheLicenceAndTheOldText) {
  write_file_atomic(path("model/LICENSE"), "terms");
  convert("model", "half", TensorType::kF16);
  const std::string card = bytes("half/README.md");
  for (const char* part : {"license: mit\n", "base_model: \"model\"", "# Old card", "| F16 |"}) {
    EXPECT_THAT(card, HasSubstr(part));
  }
  EXPECT_EQ(bytes("half/LICENSE"), "terms");
}

TEST_F(Convert, TheModelsOwnFolderIsNoOutput) {
  EXPECT_THROW(convert("model", "model", TensorType::kF16), Error);
  EXPECT_THROW(convert("model", "model/../model/", TensorType::kF16), Error);
  EXPECT_EQ(vectors("model").cols, 6);
  EXPECT_THROW(convert_model(path("model"), root_, TensorType::kF16, silent_events()), Error);
  EXPECT_THROW(convert("model", "none/../model", TensorType::kF16), Error);
  EXPECT_TRUE(file_exists(path("model/modules.json")));
}

void expect_pieces(const Tokenizer& tokenizer, const std::vector<std::string>& words,
                   const std::vector<std::string>& others) {
  const std::vector<uint8_t> found = find_word_pieces(tokenizer);
  ASSERT_EQ(static_cast<int64_t>(found.size()), tokenizer.vocabulary_size());
  const auto at = [&](const std::string& token) {
    const int32_t id = tokenizer.find(token);
    EXPECT_GE(id, 0) << token;
    return static_cast<int>(found[static_cast<size_t>(id)]);
  };
  for (const std::string& token : words) EXPECT_EQ(at(token), 1) << token;
  for (const std::string& token : others) EXPECT_EQ(at(token), 0) << token;
}

Tokenizer with_tokens(const std::vector<std::string>& tokens) {
  nlohmann::json vocabulary;
  for (const std::string& token : tokens) vocabulary[token] = vocabulary.size();
  const nlohmann::json document = {
      {"version", "1.0"},
      {"added_tokens", nlohmann::json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", nullptr},
      {"decoder", nullptr},
      {"post_processor", nullptr},
      {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", tokens[0]}}}};
  return Tokenizer::parse(document.dump(), "test");
}

TEST(WordPieces, LettersDigitsAndMarksBeginWords) {
  const std::vector<std::string> words = {"the", "##s",  "##é",   "2",   "##3rd", "½",
                                          "日",  "##本", "Ωmega", "##ा", "e-",    "а"};
  const std::vector<std::string> others = {".", "##.", "##", "#", "-e", "_", "€", "😀", "™", "'s"};
  std::vector<std::string> all = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), others.begin(), others.end());
  expect_pieces(Tokenizer::from_vocabulary(all, {}, "test"), words, others);
  expect_pieces(Tokenizer::from_vocabulary(all, {}, "test"), {}, {"[PAD]", "[UNK]", "[CLS]"});
}

TEST(WordPieces, WhatMarksSpacesIsNoPartOfAWord) {
  expect_pieces(
      with_tokens({"<unk>", "▁the", "▁", "▁▁1", "▁.", "ing", "Ġof", "Ġ(", "e</w>", ".</w>"}),
      {"▁the", "▁▁1", "ing", "Ġof", "e</w>"}, {"<unk>", "▁", "▁.", "Ġ(", ".</w>"});
}

TEST(WordPieces, ByteLevelTokensAreReadAsTheirBytes) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back();
    append_utf8(byte_level_character(static_cast<uint8_t>(byte)), tokens.back());
  }
  const auto written = [](std::string_view bytes) {
    std::string token;
    for (const char byte : bytes)
      append_utf8(byte_level_character(static_cast<uint8_t>(byte)), token);
    return token;
  };
  const std::vector<std::string> words = {written(" of"), written("\nx"), written(" é"),
                                          written("\xAC"), written("  7")};
  // Written in letters, but a quotation mark, a dash, a currency and white space.
  const std::vector<std::string> others = {written(" “"), written("—"), written("€1"),
                                           written(" \n\n"), written(".x")};
  tokens.insert(tokens.end(), words.begin(), words.end() - 2);
  tokens.push_back(words.back());
  tokens.insert(tokens.end(), others.begin(), others.end());
  expect_pieces(with_tokens(tokens), words, others);
}

}  // namespace
}  // namespace simile
