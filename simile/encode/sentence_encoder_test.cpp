// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/sentence_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <tuple>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/half.h"
#include "simile/core/parallel.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/pooling.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_writer.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

const std::string kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { text += message + "\n"; }
  std::string text;
};

SentenceEncoder golden_encoder() { return SentenceEncoder::load(kGolden, silent_events()); }

json expected_rows() { return json::parse(read_file(kGolden + "/expected.json")); }

double largest_difference(const std::vector<float>& actual, const json& expected) {
  double difference = 0;
  size_t i = 0;
  const auto compare = [&](double value) {
    if (i >= actual.size()) difference = 1e9;
    difference = std::max(difference, std::abs(value - actual[i++]));
  };
  for (const json& item : expected) {
    if (item.is_array()) {
      for (const json& value : item) compare(value.get<double>());
    } else {
      compare(item.get<double>());
    }
  }
  return i == actual.size() ? difference : 1e9;
}

PackedBatch one_sequence(const std::vector<int32_t>& ids) {
  PackedBatch batch;
  batch.ids = ids;
  batch.offsets = {0, static_cast<int32_t>(ids.size())};
  return batch;
}

// Texts of many lengths made of the tiny vocabulary's words.
std::vector<std::string> many_texts(int count) {
  const char* const words[] = {"the", "cat",   "dog", "sat", "ran",
                               "on",  "under", "mat", "sun", "red"};
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (int j = 0; j < (i * 7) % 19; ++j) text += std::string(words[(i + j * j) % 10]) + " ";
    texts.push_back(text);
  }
  return texts;
}

TEST(SentenceEncoderGolden, HiddenStatesMatchTheIndependentImplementation) {
  const SentenceEncoder encoder = golden_encoder();
  for (const json& row : expected_rows()) {
    PackedBatch batch = one_sequence(row["ids"].get<std::vector<int32_t>>());
    EXPECT_LT(largest_difference(encoder.hidden_states(batch), row["hidden"]), 1e-5) << row["text"];
    batch.type_ids = row["types"].get<std::vector<int32_t>>();
    EXPECT_LT(largest_difference(encoder.hidden_states(batch), row["hidden_with_types"]), 1e-5)
        << row["text"];
  }
}

TEST(SentenceEncoderGolden, EveryPoolingOfEveryTextMatches) {
  const SentenceEncoder loaded = golden_encoder();
  for (const char* mode : {"cls", "mean", "max"}) {
    ModelSettings settings = loaded.settings();
    settings.pooling = parse_pooling_mode(mode);
    std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(settings.encoder.shape())));
    read_encoder_weights(kGolden + "/model.safetensors", settings.encoder, flat.data(),
                         silent_events());
    const SentenceEncoder encoder(make_encoder(settings.encoder.shape(), flat.data()), settings,
                                  loaded.tokenizer());
    for (const json& row : expected_rows()) {
      const Matrix<float> vectors =
          encoder.encode({row["text"].get<std::string>()}, {}, silent_events());
      EXPECT_LT(largest_difference(vectors.values, row[mode]), 1e-5) << mode << row["text"];
    }
  }
}

TEST(SentenceEncoder, ATextInABatchEqualsTheTextAloneBitForBit) {
  const SentenceEncoder encoder = golden_encoder();
  const std::vector<std::string> texts = many_texts(60);
  const Matrix<float> together = encoder.encode(texts, {}, silent_events());
  for (int64_t i = 0; i < together.rows; ++i) {
    const Matrix<float> alone =
        encoder.encode({texts[static_cast<size_t>(i)]}, {}, silent_events());
    EXPECT_THAT(alone.values,
                ElementsAreArray(together.row(i), static_cast<size_t>(together.cols)));
  }
}

TEST(SentenceEncoder, BatchSizeOrderAndThreadsChangeNoBit) {
  const SentenceEncoder encoder = golden_encoder();
  std::vector<std::string> texts = many_texts(300);
  const Matrix<float> expected = encoder.encode(texts, {}, silent_events());
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const int64_t tokens : {1, 50, 100000}) {
      EncodeOptions options;
      options.batch_tokens = tokens;
      EXPECT_EQ(encoder.encode(texts, options, silent_events()).values, expected.values);
    }
  }
  set_thread_count(2);
  std::reverse(texts.begin(), texts.end());
  const Matrix<float> reversed = encoder.encode(texts, {}, silent_events());
  for (int64_t i = 0; i < expected.rows; ++i) {
    EXPECT_THAT(std::vector<float>(reversed.row(i), reversed.row(i) + 32),
                ElementsAreArray(expected.row(expected.rows - 1 - i), 32));
  }
}

TEST(SentenceEncoder, BlocksAreTheVectorsOfAllTextsInOrder) {
  const SentenceEncoder encoder = golden_encoder();
  for (const int count : {0, 3, 4096, 9000}) {
    const std::vector<std::string> texts = many_texts(count);
    std::vector<float> taken;
    std::vector<size_t> firsts;
    EncodeCounts counts;
    const auto take = [&](size_t first, const Matrix<float>& vectors) {
      firsts.push_back(first);
      taken.insert(taken.end(), vectors.values.begin(), vectors.values.end());
    };
    encoder.encode_blocks(texts, {}, take, silent_events(), &counts);
    EXPECT_EQ(taken, encoder.encode(texts, {}, silent_events()).values);
    EXPECT_EQ(counts.texts, count);
    EXPECT_EQ(firsts.size(), (static_cast<size_t>(count) + 4095) / 4096);
    EXPECT_TRUE(std::is_sorted(firsts.begin(), firsts.end()));
  }
}

TEST(SentenceEncoder, WhatTakingABlockThrowsEndsTheWork) {
  const SentenceEncoder encoder = golden_encoder();
  for (const size_t bad : {size_t{0}, size_t{4096}}) {
    const auto take = [&](size_t first, const Matrix<float>&) {
      if (first == bad) throw Error(ErrorKind::kIo, "full");
    };
    EXPECT_THROW(encoder.encode_blocks(many_texts(5000), {}, take, silent_events()), Error);
  }
}

TEST(SentenceEncoder, IdsGiveTheVectorsOfTheirTexts) {
  const SentenceEncoder encoder = golden_encoder();
  const std::vector<std::string> texts = many_texts(10);
  EXPECT_EQ(
      encoder.encode_ids(encoder.tokenizer().encode_ids_batch(texts), {}, silent_events()).values,
      encoder.encode(texts, {}, silent_events()).values);
  for (const std::vector<int32_t>& bad :
       {std::vector<int32_t>{}, {-1}, {1000}, std::vector<int32_t>(25, 2)}) {
    EXPECT_THROW(encoder.encode_ids({bad}, {}, silent_events()), Error);
  }
}

TEST(SentenceEncoder, NormalisedVectorsHaveLengthOneAlsoWhenCutShort) {
  const SentenceEncoder encoder = golden_encoder();
  EncodeOptions options;
  options.normalize = true;
  for (const int64_t dimensions : {0, 8, 32}) {
    options.dimensions = dimensions;
    const Matrix<float> vectors = encoder.encode(many_texts(5), options, silent_events());
    EXPECT_EQ(vectors.cols, dimensions == 0 ? 32 : dimensions);
    for (int64_t i = 0; i < vectors.rows; ++i) {
      double squares = 0;
      for (int64_t j = 0; j < vectors.cols; ++j) squares += vectors.at(i, j) * vectors.at(i, j);
      EXPECT_NEAR(squares, 1.0, 1e-5);
    }
  }
  options.dimensions = 33;
  EXPECT_THROW(encoder.encode({"a"}, options, silent_events()), Error);
}

class Recorder : public EventSink {
 public:
  void progress(const Progress& progress) override { last = progress; }
  Progress last;
};

TEST(SentenceEncoder, CountsTruncatedTextsAndBrokenBytes) {
  const SentenceEncoder encoder = golden_encoder();
  std::string long_text, full_text;
  for (int i = 0; i < 23; ++i) long_text += "cat ";
  for (int i = 0; i < 22; ++i) full_text += "cat ";  // 24 tokens: exactly the limit
  EncodeCounts counts;
  Recorder recorder;
  const Matrix<float> vectors =
      encoder.encode({long_text, full_text, "the \xff dog", ""}, {}, recorder, &counts);
  EXPECT_EQ(counts.texts, 4);
  EXPECT_EQ(counts.truncated, 1);
  EXPECT_EQ(counts.replaced, 1);
  EXPECT_EQ(recorder.last.done, 4);
  EXPECT_EQ(recorder.last.total, 4);
  EXPECT_THAT(std::vector<float>(vectors.row(0), vectors.row(0) + 32),
              ElementsAreArray(vectors.row(1), 32));
}

TEST(SentenceEncoder, PromptsArePutBeforeTheText) {
  const SentenceEncoder loaded = golden_encoder();
  ModelSettings settings = loaded.settings();
  settings.prompts = {{"query", "the red "}, {"document", ""}};
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(settings.encoder.shape())));
  initialise_encoder_weights(settings.encoder, 5, flat.data());
  const auto fp32 = make_encoder(settings.encoder.shape(), flat.data());
  const SentenceEncoder encoder(fp32, settings, loaded.tokenizer());
  EncodeOptions query, direct;
  query.prompt_name = "query";
  direct.prompt = "the red ";
  const auto encode = [&](const SentenceEncoder& e, const std::string& text,
                          const EncodeOptions& o) {
    return e.encode({text}, o, silent_events()).values;
  };
  const std::vector<float> expected = encode(encoder, "the red cat", {});
  EXPECT_EQ(encode(encoder, "cat", query), expected);
  EXPECT_EQ(encode(encoder, "cat", direct), expected);
  settings.default_prompt = "query";
  EXPECT_EQ(encode(SentenceEncoder(fp32, settings, loaded.tokenizer()), "cat", {}), expected);
  query.prompt_name = "qury";
  try {
    encode(encoder, "cat", query);
    FAIL() << "unknown prompt";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("document, query"));
  }
}

TEST(SentenceEncoder, RolesHaveTheirPromptsElseTheDefault) {
  const SentenceEncoder loaded = golden_encoder();
  ModelSettings settings = loaded.settings();
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(settings.encoder.shape())));
  initialise_encoder_weights(settings.encoder, 5, flat.data());
  const auto fp32 = make_encoder(settings.encoder.shape(), flat.data());
  const auto prompts = [&](std::map<std::string, std::string> of_model, const char* by_default) {
    settings.prompts = std::move(of_model);
    settings.default_prompt = by_default;
    const SentenceEncoder encoder(fp32, settings, loaded.tokenizer());
    std::vector<std::string> found;
    for (const TextRole role : {TextRole::kAny, TextRole::kQuery, TextRole::kDocument}) {
      EncodeOptions options;
      options.role = role;
      found.push_back(encoder.prompt(options));
    }
    return found;
  };
  EXPECT_THAT(prompts({}, ""), ElementsAre("", "", ""));
  EXPECT_THAT(prompts({{"query", "q "}, {"document", "d "}, {"passage", "p "}}, ""),
              ElementsAre("", "q ", "d "));
  EXPECT_THAT(prompts({{"passage", "p "}, {"corpus", "c "}, {"all", "a "}}, "all"),
              ElementsAre("a ", "a ", "p "));
  EXPECT_THAT(prompts({{"query", ""}, {"corpus", "c "}, {"all", "a "}}, "all"),
              ElementsAre("a ", "", "c "));
  EncodeOptions named;
  named.prompt_name = "corpus";
  named.role = TextRole::kQuery;
  EXPECT_EQ(SentenceEncoder(fp32, settings, loaded.tokenizer()).prompt(named), "c ");
}

// The tiny model with other settings and random weights.
class Changed {
 public:
  Changed() : loaded_(golden_encoder()), settings(loaded_.settings()) {
    flat_.resize(static_cast<size_t>(encoder_parameter_count(settings.encoder.shape())));
    initialise_encoder_weights(settings.encoder, 5, flat_.data());
  }
  SentenceEncoder encoder() const {
    return SentenceEncoder(make_encoder(settings.encoder.shape(), flat_.data()), settings,
                           loaded_.tokenizer());
  }

 private:
  SentenceEncoder loaded_;
  std::vector<float> flat_;

 public:
  ModelSettings settings;
};

TEST(SentenceEncoder, ADocumentsPromptIsTheFirstThereIs) {
  Changed model;
  EncodeOptions options;
  options.prompt_name = "document";
  const auto vectors = [&] {
    return model.encoder().encode({"cat"}, options, silent_events()).values;
  };
  const auto expected = [&](const std::string& text) {
    return model.encoder().encode({text}, {}, silent_events()).values;
  };
  model.settings.prompts = {{"corpus", "the "}, {"query", "red "}};
  EXPECT_EQ(vectors(), expected("the cat"));
  model.settings.prompts["passage"] = "dog ";
  EXPECT_EQ(vectors(), expected("dog cat"));
  model.settings.prompts["document"] = "sun ";
  EXPECT_EQ(vectors(), expected("sun cat"));
  model.settings.prompts = {{"query", "red "}};
  EXPECT_THROW(vectors(), Error);
}

TEST(SentenceEncoder, APromptsTokensAreLeftOutOfPoolingAlone) {
  Changed model;
  model.settings.normalize = false;
  model.settings.pooling = PoolingMode::kMean;
  model.settings.pooling.include_prompt = false;
  const SentenceEncoder encoder = model.encoder();
  const int64_t H = model.settings.encoder.hidden;
  EncodeOptions options;
  options.prompt = "the red ";
  const std::vector<int32_t> ids = encoder.tokenizer().encode("the red cat sat").ids;
  ASSERT_EQ(ids.size(), 6u);  // [CLS] the red cat sat [SEP]: the first three are left out
  const std::vector<float> hidden = encoder.hidden_states(one_sequence(ids));
  const Matrix<float> actual = encoder.encode({"cat sat"}, options, silent_events());
  for (int64_t j = 0; j < H; ++j) {
    float sum = 0;
    for (int64_t t = 3; t < 6; ++t) sum += hidden[static_cast<size_t>(t * H + j)];
    EXPECT_NEAR(actual.at(0, j), sum / 3, 1e-6);
  }
  options.prompt = "";
  model.settings.pooling.include_prompt = true;
  EXPECT_EQ(encoder.encode({"cat"}, options, silent_events()).values,
            model.encoder().encode({"cat"}, options, silent_events()).values);
  std::string long_prompt;
  for (int i = 0; i < 40; ++i) long_prompt += "red ";
  options.prompt = long_prompt;  // nothing of the text is left but the special token behind it
  Warnings warnings;
  const Matrix<float> left = encoder.encode({"cat"}, options, warnings);
  EXPECT_THAT(warnings.text, HasSubstr("leaves no room for text"));
  std::vector<int32_t> cut;
  encoder.tokenizer().encode_ids(long_prompt + "cat", cut);
  const std::vector<float> states = encoder.hidden_states(one_sequence(cut));
  for (int64_t j = 0; j < H; ++j) {
    EXPECT_EQ(left.at(0, j), states[(cut.size() - 1) * static_cast<size_t>(H) + j]);
  }
}

TEST(SentenceEncoder, ModulesDecideTheDimension) {
  Changed model;
  const int64_t H = model.settings.encoder.hidden;
  model.settings.pooling.modes = {PoolingMode::kMean, PoolingMode::kMax};
  model.settings.normalize = false;
  EXPECT_EQ(model.encoder().dimension(), 2 * H);
  ModuleSettings dense;
  dense.kind = ModuleKind::kDense;
  dense.inputs = 2 * H;
  dense.outputs = 3;
  dense.bias = false;
  std::vector<float> weights(static_cast<size_t>(6 * H), 0.0f);  // picks mean_0, mean_1, max_0
  weights[0] = weights[static_cast<size_t>(2 * H + 1)] = weights[static_cast<size_t>(5 * H)] = 1;
  dense.weights = std::make_shared<const std::vector<float>>(weights);
  const Matrix<float> whole = model.encoder().encode(many_texts(5), {}, silent_events());
  model.settings.modules = {dense};
  const SentenceEncoder encoder = model.encoder();
  EXPECT_EQ(encoder.dimension(), 3);
  const Matrix<float> picked = encoder.encode(many_texts(5), {}, silent_events());
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(picked.at(i, 0), whole.at(i, 0));
    EXPECT_EQ(picked.at(i, 1), whole.at(i, 1));
    EXPECT_EQ(picked.at(i, 2), whole.at(i, H));
  }
}

TEST(SentenceEncoder, TextsAreLowerCasedByTheTokenizerWhereTheModelSaysSo) {
  const std::string folder = testing::TempDir() + "simile_encode_lower_" + std::to_string(getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::copy(kGolden, folder);
  const auto vector = [&](bool lower_case, const std::string& text) {
    write_file_atomic(join_path(folder, "tokenizer_config.json"), R"({"do_lower_case":false})");
    write_file_atomic(join_path(folder, "sentence_bert_config.json"),
                      json{{"do_lower_case", lower_case}}.dump());
    return SentenceEncoder::load(folder, silent_events())
        .encode({text}, {}, silent_events())
        .values;
  };
  // Special tokens that a text has written stay what they are.
  EXPECT_EQ(vector(true, "The [MASK] CAT"), vector(false, "the [MASK] cat"));
  EXPECT_NE(vector(true, "The CAT"), vector(false, "The CAT"));
  std::filesystem::remove_all(folder);
}

TEST(SentenceEncoder, ASavedModelPassesItsSelfTestAndAnotherDoesNot) {
  const SentenceEncoder loaded = golden_encoder();
  const std::string folder = testing::TempDir() + "simile_encode_saved_" + std::to_string(getpid());
  ModelToSave model;
  model.settings = loaded.settings();
  std::vector<float> flat(
      static_cast<size_t>(encoder_parameter_count(model.settings.encoder.shape())));
  initialise_encoder_weights(model.settings.encoder, 9, flat.data());
  model.weights = flat.data();
  model.tokenizer = read_tokenizer_files(kGolden);
  const auto fp32 = make_encoder(model.settings.encoder.shape(), flat.data());
  model.self_test = make_self_test(SentenceEncoder(fp32, model.settings, loaded.tokenizer()));
  save_model_folder(folder, model);
  const SentenceEncoder saved = SentenceEncoder::load(folder, silent_events());
  EXPECT_EQ(check_self_test(folder, saved), 0.0);
  EXPECT_EQ(check_self_test(kGolden, loaded), std::nullopt);
  EXPECT_THROW(check_self_test(folder, loaded), Error);
  std::filesystem::remove_all(folder);
}

TEST(SentenceEncoder, AModelSavedInHalvesGivesTheBitsOfItsRoundedWeights) {
  const SentenceEncoder loaded = golden_encoder();
  const std::string folder = testing::TempDir() + "simile_encode_half_" + std::to_string(getpid());
  ModelToSave model;
  model.settings = loaded.settings();
  std::vector<float> flat(
      static_cast<size_t>(encoder_parameter_count(model.settings.encoder.shape())));
  initialise_encoder_weights(model.settings.encoder, 9, flat.data());
  round_to_halves(flat.data(), static_cast<int64_t>(flat.size()));
  model.weights = flat.data();
  model.tokenizer = read_tokenizer_files(kGolden);
  const auto fp32 = make_encoder(model.settings.encoder.shape(), flat.data());
  const SentenceEncoder view(fp32, model.settings, loaded.tokenizer());
  model.self_test = make_self_test(view);
  const std::vector<std::string> texts = {"the cat", "", "a much longer text about the fox"};
  const Matrix<float> expected = view.encode(texts, {}, silent_events());
  for (const TensorType type : {TensorType::kF16, TensorType::kF32}) {
    model.weight_type = type;
    save_model_folder(folder, model);
    const SentenceEncoder saved = SentenceEncoder::load(folder, silent_events());
    EXPECT_EQ(check_self_test(folder, saved), 0.0);
    EXPECT_EQ(saved.encode(texts, {}, silent_events()).values, expected.values);
  }
  std::filesystem::remove_all(folder);
}

// An encoder of another kind: every hidden state is its token's id.
class IdEncoder : public Encoder {
 public:
  IdEncoder(int64_t hidden, int64_t vocabulary, int64_t longest)
      : hidden_(hidden), vocabulary_(vocabulary), longest_(longest) {}
  int64_t hidden_size() const override { return hidden_; }
  int64_t vocabulary() const override { return vocabulary_; }
  int64_t longest_sequence() const override { return longest_; }
  void operator()(const PackedBatch& batch, float* hidden) const override {
    for (const int32_t id : batch.ids) hidden = std::fill_n(hidden, hidden_, id);
  }

 private:
  int64_t hidden_, vocabulary_, longest_;
};

TEST(SentenceEncoder, AnyEncoderServes) {
  const SentenceEncoder loaded = golden_encoder();
  ModelSettings settings = loaded.settings();
  settings.normalize = false;
  settings.pooling = PoolingMode::kMax;
  const SentenceEncoder encoder(std::make_shared<IdEncoder>(32, 1000, 24), settings,
                                loaded.tokenizer());
  const Matrix<float> vectors = encoder.encode_ids({{7, 3}, {5}, {1, 2, 9}}, {}, silent_events());
  EXPECT_THAT(std::vector<float>(vectors.row(0), vectors.row(1)), testing::Each(7));
  EXPECT_THAT(std::vector<float>(vectors.row(1), vectors.row(2)), testing::Each(5));
  EXPECT_THAT(std::vector<float>(vectors.row(2), vectors.row(3)), testing::Each(9));
}

TEST(SentenceEncoder, AnEncoderThatDoesNotFitIsRefused) {
  const SentenceEncoder loaded = golden_encoder();
  const auto make = [&](int64_t hidden, int64_t vocabulary, int64_t longest) {
    SentenceEncoder(std::make_shared<IdEncoder>(hidden, vocabulary, longest), loaded.settings(),
                    loaded.tokenizer());
  };
  EXPECT_NO_THROW(make(32, 1000, 24));
  EXPECT_THROW(make(31, 1000, 24), Error);
  EXPECT_THROW(make(32, 20, 24), Error);
  EXPECT_THROW(make(32, 1000, 23), Error);
}

constexpr int64_t H = 32;

Head make_head(const std::string& kind, const std::string& input) {
  HeadSettings settings;
  settings.name = kind;
  settings.kind = kind;
  settings.input = input;
  settings.output = "classes";
  settings.class_names = {"a", "b", "c"};
  std::vector<float> weights(static_cast<size_t>(head_parameter_count(settings, H)));
  initialise_head_weights(settings, H, 5, weights.data());
  return Head(settings, H, std::move(weights));
}

const std::vector<std::string> kLeft = {"the cat sat", "", "the dog ran under the red sun", "mat",
                                        "the cat sat on the mat on the mat on the mat on the mat"};
const std::vector<std::string> kRight = {
    "on the mat", "the sun", "cat", "",
    "the red dog ran under the sun and the red dog ran under the sun and the cat"};

// One pair as one sequence, put together by hand.
std::vector<float> embed_jointly(const SentenceEncoder& encoder, size_t i) {
  const Encoding pair = encoder.tokenizer().encode_pair(kLeft[i], kRight[i]);
  PackedBatch batch;
  batch.ids = pair.ids;
  batch.type_ids = pair.type_ids;
  batch.offsets = {0, static_cast<int32_t>(pair.ids.size())};
  std::vector<float> pooled(static_cast<size_t>(H));
  pool_states(encoder.settings().pooling.modes, encoder.hidden_states(batch).data(), batch.offsets,
              H, pooled.data());
  return pooled;
}

TEST(EncodePairs, IsTheEncoderOfBothTextsWithTheirTypes) {
  const SentenceEncoder encoder = golden_encoder();
  EncodeOptions options;
  options.normalize = false;
  for (const int64_t tokens : {1, 40, 10000}) {
    options.batch_tokens = tokens;
    const Matrix<float> together = encoder.encode_pairs(kLeft, kRight, options, silent_events());
    for (int64_t i = 0; i < together.rows; ++i) {
      EXPECT_EQ(std::vector<float>(together.row(i), together.row(i) + H),
                embed_jointly(encoder, static_cast<size_t>(i)));
    }
  }
}

TEST(EncodePairs, CountsWhatWasCutAndRefusesUnevenSides) {
  const SentenceEncoder encoder = golden_encoder();
  EncodeCounts counts;
  encoder.encode_pairs(kLeft, kRight, {}, silent_events(), &counts);
  EXPECT_EQ(counts.texts, 5);
  EXPECT_EQ(counts.truncated, 1);
  EXPECT_EQ(counts.replaced, 0);
  EXPECT_THROW(encoder.encode_pairs(kLeft, {"one"}, {}, silent_events()), Error);
  EXPECT_EQ(encoder.encode_pairs({}, {}, {}, silent_events()).rows, 0);
}

TEST(EncodePairs, AnEncoderWithOneTypeReadsNoTypes) {
  const SentenceEncoder loaded = golden_encoder();
  ModelSettings settings = loaded.settings();
  settings.encoder.types = 1;
  std::vector<float> flat(static_cast<size_t>(encoder_parameter_count(settings.encoder.shape())),
                          0.01f);
  const SentenceEncoder encoder(make_encoder(settings.encoder.shape(), flat.data()), settings,
                                loaded.tokenizer());
  EXPECT_NO_THROW(encoder.encode_pairs(kLeft, kRight, {}, silent_events()));
}

TEST(Predictor, TakesSingleTextsPairsAndJointPairs) {
  const SentenceEncoder encoder = golden_encoder();
  EncodeOptions plain;
  plain.normalize = false;
  const Matrix<float> u = encoder.encode(kLeft, plain, silent_events());
  const Matrix<float> v = encoder.encode(kRight, plain, silent_events());
  const Head single = make_head("linear", "single"), pair = make_head("concat", "pair"),
             joint = make_head("mlp", "joint");
  EncodeOptions options;  // neither of these changes what a head sees
  options.normalize = true;
  options.dimensions = 4;
  const auto predict = [&](const Head& head, const std::vector<std::string>& pairs) {
    return Predictor(encoder, head).predict(kLeft, pairs, options, silent_events()).values;
  };
  EXPECT_EQ(predict(single, {}), single.logits(u).values);
  EXPECT_EQ(predict(pair, kRight), pair.logits(u, v).values);
  EXPECT_EQ(predict(joint, kRight),
            joint.logits(encoder.encode_pairs(kLeft, kRight, plain, silent_events())).values);
  EXPECT_THROW(predict(single, kRight), Error);
  EXPECT_THROW(predict(pair, {}), Error);
  EXPECT_THROW(predict(joint, {"one"}), Error);
}

TEST(Predictor, ThreadsAndBatchesChangeNoBit) {
  const SentenceEncoder encoder = golden_encoder();
  const Head head = make_head("mlp", "joint");
  const Predictor predictor(encoder, head);
  const Matrix<float> expected = predictor.predict(kLeft, kRight, {}, silent_events());
  EncodeOptions options;
  options.batch_tokens = 7;
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(predictor.predict(kLeft, kRight, options, silent_events()).values, expected.values);
  }
  set_thread_count(2);
}

TEST(Predictor, AHeadOfAnotherSizeIsRefused) {
  HeadSettings settings;
  settings.name = "small";
  const Head head(settings, 2, std::vector<float>(3));
  const SentenceEncoder encoder = golden_encoder();
  EXPECT_THROW(Predictor(encoder, head), Error);
}

// The folder of a published model (scripts/get-published.sh), or "" where it is not there.
std::string published_model(const std::string& name) {
  const char* const store = std::getenv("SIMILE_PUBLISHED");
  const char* const home = std::getenv("HOME");
  const std::string folder =
      (store ? store : std::string(home ? home : "") + "/.cache/simile-published") + "/" + name;
  return folder_exists(folder) ? folder : "";
}

TEST(PublishedModelsSlow, VectorsInInt8PointWhereThoseInFp32Do) {
  const std::tuple<const char*, size_t, double, double> rows[] = {
      // model, texts, mean and least cosine
      {"all-MiniLM-L6-v2", 200, 0.999, 0.995},
      {"all-mpnet-base-v2", 20, 0.999, 0.995},
  };
  std::vector<std::string> texts;
  std::istringstream lines(read_file(SIMILE_SOURCE_DIR "/examples/faq/corpus.tsv"));
  for (std::string line; std::getline(lines, line);) texts.push_back(line);
  bool found = false;
  for (const auto& [name, count, least_mean, least] : rows) {
    const std::string folder = published_model(name);
    if (folder.empty()) continue;
    found = true;
    const std::vector<std::string> some(texts.begin(), texts.begin() + static_cast<int64_t>(count));
    const auto encode = [&, &path = folder](ProductType products) {
      return SentenceEncoder::load(path, silent_events(), products)
          .encode(some, {}, silent_events());
    };
    const Matrix<float> floats = encode(ProductType::kFloat), bytes = encode(ProductType::kByte);
    double sum = 0, lowest = 1;
    for (int64_t i = 0; i < floats.rows; ++i) {  // vectors of length 1
      const double cosine =
          std::inner_product(floats.row(i), floats.row(i) + floats.cols, bytes.row(i), 0.0);
      sum += cosine;
      lowest = std::min(lowest, cosine);
    }
    EXPECT_GE(sum / static_cast<double>(floats.rows), least_mean) << name;
    EXPECT_GE(lowest, least) << name;
  }
  if (!found) GTEST_SKIP() << "skipped: no published model (scripts/get-published.sh)";
}

}  // namespace
}  // namespace simile
