// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/derive/convert.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/encode/word_vectors.h"
#include "simile/kernel/pooling.h"
#include "simile/model/model_card.h"
#include "simile/model/model_writer.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const std::string kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
const std::vector<std::string> kTexts = {"the cat", "", "the red dog ran under the mat", "a mat",
                                         "the dog and the cat and the dog and the cat and the dog "
                                         "and the cat sat on the red mat the end"};

// A static model with the tokenizer of the golden transformer.
class Join : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "simile_join_" + std::to_string(getpid()) + info->name() + "/";
    fs::remove_all(root_);
    make_folders(root_);
    save_static("table", TensorType::kF32);
    convert_model(kGolden, path("bert"), TensorType::kF16, silent_events());
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + name; }

  void save_static(const std::string& name, TensorType type,
                   const std::function<void(ModelToSave&)>& edit = {}) const {
    const SentenceEncoder bert = SentenceEncoder::load(kGolden, silent_events());
    const int64_t V = bert.settings().encoder.vocabulary;
    RandomStream stream(7, "table");
    std::vector<float> table(static_cast<size_t>(V * 12));
    for (float& value : table) value = static_cast<float>(stream.normal());
    ModelToSave model;
    model.settings.encoder = static_encoder_config(V, 12, "test");
    model.settings.pooling.modes.clear();
    model.settings.max_length = model.settings.encoder.shape().longest_sequence();
    model.weights = table.data();
    model.weight_type = type;
    model.tokenizer = {{"tokenizer.json", bert.tokenizer().to_json()}};
    model.model_card = "# The card of " + name + "\n";
    if (edit) edit(model);
    save_model_folder(path(name), model);
  }

  JoinReport join(const std::vector<ModelToJoin>& models, const std::string& output) const {
    std::vector<ModelToJoin> at = models;
    for (ModelToJoin& model : at) model.model = path(model.model);
    return join_models(at, path(output), silent_events());
  }

  SentenceEncoder open(const std::string& name) const {
    return SentenceEncoder::load(path(name), silent_events());
  }

  // Vectors before the last Normalize.
  Matrix<float> vectors(const std::string& name, const std::vector<std::string>& texts) const {
    EncodeOptions options;
    options.normalize = false;
    return open(name).encode(texts, options, silent_events());
  }

  std::string fingerprint(const std::string& name) const {
    return model_fingerprint(open_model_folder(path(name), silent_events()));
  }

  std::string root_;
};

TEST_F(Join, VectorsAreThoseOfThePartsSideBySide) {
  const JoinReport report = join({{"bert", 0.3}, {"table", 2}}, "both");
  EXPECT_EQ(report.dimensions, 44);
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].model, path("table"));  // a static part comes first
  EXPECT_EQ(report.parts[0].type, TensorType::kF32);
  EXPECT_EQ(report.parts[1].folder, "0_Joined/1");
  EXPECT_EQ(report.parts[1].weight, 0.3);
  EXPECT_EQ(report.parts[1].type, TensorType::kF16);

  const Matrix<float> joined = vectors("both", kTexts);
  ASSERT_EQ(joined.cols, 44);
  for (const char* bert : {"bert", "both/0_Joined/1"}) {
    Matrix<float> part = vectors(bert, kTexts);
    normalise_rows(part.values.data(), part.rows, part.cols);
    for (int64_t i = 0; i < joined.rows; ++i) {
      for (int64_t j = 0; j < 32; ++j) EXPECT_EQ(joined.at(i, 12 + j), 0.3f * part.at(i, j));
    }
  }
  for (const char* table : {"table", "both/0_Joined/0"}) {
    Matrix<float> part = vectors(table, kTexts);
    normalise_rows(part.values.data(), part.rows, part.cols);
    for (int64_t i = 0; i < joined.rows; ++i) {
      for (int64_t j = 0; j < 12; ++j) EXPECT_NEAR(joined.at(i, j), 2 * part.at(i, j), 1e-6);
    }
  }
  // The whole is divided by its length.
  const Matrix<float> unit = open("both").encode({"the cat"}, {}, silent_events());
  double squares = 0;
  for (const float value : unit.values) squares += static_cast<double>(value) * value;
  EXPECT_NEAR(squares, 1, 1e-6);
}

TEST_F(Join, TheFolderIsWhatItWasMadeFrom) {
  save_static("bytes", TensorType::kI8);
  write_file_atomic(path("bytes/LICENSE"), "free");
  join({{"bytes", 1}, {"bert", 0.5}}, "both");
  const SentenceEncoder encoder = open("both");
  EXPECT_LT(check_self_test(path("both"), encoder).value_or(1), 1e-6);
  const ModelSettings& settings = encoder.settings();
  ASSERT_EQ(settings.encoder.parts.size(), 2u);
  EXPECT_TRUE(settings.encoder.parts[0].encoder.is_static());
  EXPECT_FALSE(settings.encoder.is_static());
  EXPECT_EQ(settings.encoder.parts[1].max_length, 24);
  EXPECT_EQ(settings.encoder.closing_tokens, 1);
  EXPECT_EQ(settings.max_length, open("bytes").settings().max_length);
  EXPECT_TRUE(settings.normalize);
  const auto table =
      open_weights(path("both/0_Joined/0/0_StaticEmbedding/simile-int8.safetensors"));
  EXPECT_EQ(table->find("embedding.weight")->type, TensorType::kI8);
  EXPECT_EQ(open_weights(path("both/0_Joined/1/model.safetensors"))->tensors()[0].type,
            TensorType::kF16);
  EXPECT_EQ(read_file(path("both/0_Joined/0/README.md")), "# The card of bytes\n");
  EXPECT_EQ(read_file(path("both/0_Joined/0/LICENSE")), "free");
  const std::string card = read_file(path("both/README.md"));
  EXPECT_THAT(card, AllOf(HasSubstr("| 0_Joined/0 | 1 | static"), HasSubstr("| 0.5 | bert"),
                          HasSubstr("- \"bytes\"\n- \"bert\"\n")));
  // Special tokens that the transformer needs do not count in the table.
  std::vector<float> row(12, 1.0f);
  table->read_floats(*table->find("embedding.weight"),
                     12 * encoder.tokenizer().special_tokens().cls, 12, row.data());
  EXPECT_EQ(row, std::vector<float>(12, 0.0f));

  const std::string before = fingerprint("both");
  fs::copy(path("both"), path("copy"), fs::copy_options::recursive);
  EXPECT_EQ(fingerprint("copy"), before);
  join({{"bytes", 1}, {"bert", 0.4}}, "both");
  EXPECT_NE(fingerprint("both"), before);
}

TEST_F(Join, APartWithAShorterLimitSeesTheBeginningOfAText) {
  join({{"table", 1}, {"bert", 1}}, "both");
  std::string text = "the cat";
  for (int i = 0; i < 40; ++i) text += " dog";
  const Matrix<float> whole = vectors("both", {text, text + " mat", "the cat"});
  Matrix<float> part = vectors("bert", {text});
  normalise_rows(part.values.data(), 1, part.cols);
  for (int64_t j = 0; j < 32; ++j) {
    EXPECT_EQ(whole.at(0, 12 + j), part.at(0, j));
    EXPECT_EQ(whole.at(0, 12 + j), whole.at(1, 12 + j));
  }
  EXPECT_NE(whole.at(0, 0), whole.at(1, 0));
}

TEST_F(Join, EveryPrecisionPassesItsSelfTest) {
  join({{"table", 1}, {"bert", 0.5}}, "both");
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kBf16, TensorType::kI8}) {
    const ConversionReport report =
        convert_model(path("both"), path("other"), type, silent_events());
    EXPECT_GE(report.least_cosine, 0.99) << tensor_type_name(type);
    EXPECT_GT(report.bytes_after, 0);
    EXPECT_LT(check_self_test(path("other"), open("other")).value_or(1), 1e-6);
    EXPECT_EQ(open_weights(path(std::string("other/0_Joined/1/") + weight_file_name(type)))
                  ->find("embeddings.word_embeddings.weight")
                  ->type,
              type);
    const std::string once = fingerprint("other");
    convert_model(path("other"), path("again"), type, silent_events());
    // The scales of bytes may be rounded once more.
    EXPECT_TRUE(fingerprint("again") == once || type == TensorType::kI8) << tensor_type_name(type);
  }
}

TEST_F(Join, VectorsDoNotDependOnTheThreadsOrTheBatch) {
  join({{"table", 1}, {"bert", 0.5}}, "both");
  const SentenceEncoder encoder = open("both");
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) texts.push_back(kTexts[static_cast<size_t>(i) % kTexts.size()]);
  const int kept = thread_count();
  set_thread_count(1);
  const Matrix<float> one = encoder.encode(texts, {}, silent_events());
  set_thread_count(3);
  const Matrix<float> three = encoder.encode(texts, {}, silent_events());
  set_thread_count(kept);
  EXPECT_EQ(one.values, three.values);
  const Matrix<float> alone = encoder.encode({texts[2]}, {}, silent_events());
  EXPECT_TRUE(std::equal(alone.row(0), alone.row(0) + alone.cols, one.row(2)));
}

TEST_F(Join, StaticModelsTakeNoSpecialTokens) {
  save_static("other", TensorType::kF16);
  join({{"table", 1}, {"other", 1}}, "both");
  const SentenceEncoder encoder = open("both");
  EXPECT_TRUE(encoder.settings().encoder.is_static());
  EXPECT_EQ(encoder.settings().encoder.closing_tokens, 0);
  EncodeCounts counts;
  encoder.encode({"the cat"}, {}, silent_events(), &counts);
  EXPECT_EQ(counts.tokens, 2);
}

TEST_F(Join, WhatCannotBeJoinedIsRefused) {
  const auto refusal = [&](ErrorKind kind, const std::vector<ModelToJoin>& models,
                           const std::string& output = "out") {
    return error_of(kind, [&] { join(models, output); });
  };
  const auto edited = [&](const std::function<void(ModelSettings&)>& edit) {
    save_static("edited", TensorType::kF32, [&](ModelToSave& model) { edit(model.settings); });
    return refusal(ErrorKind::kInput, {{"edited", 1}, {"bert", 1}});
  };
  EXPECT_THAT(refusal(ErrorKind::kUsage, {{"table", 1}}), HasSubstr("at least two"));
  for (const double weight : {0.0, -1.0, 1e7}) {
    EXPECT_THAT(refusal(ErrorKind::kUsage, {{"table", weight}, {"bert", 1}}),
                AllOf(HasSubstr("weight"), HasSubstr("table"), HasSubstr("above 0")));
  }
  EXPECT_THAT(refusal(ErrorKind::kUsage, {{"table", 1}, {"bert", 1}}, "table"),
              HasSubstr("would replace it"));
  EXPECT_THAT(edited([](ModelSettings& s) {
                s.prompts = {{"query", "q: "}};
              }),
              AllOf(HasSubstr("prompts differ"), HasSubstr("config_sentence_transformers.json")));
  EXPECT_THAT(edited([](ModelSettings& s) { s.similarity = "dot"; }),
              HasSubstr("similarity_fn_name"));
  EXPECT_THAT(edited([](ModelSettings& s) { s.dimensions = 5; }),
              AllOf(HasSubstr("keeps 5 of its 12"), HasSubstr("truncate_dim")));
  EXPECT_THAT(edited([](ModelSettings& s) {
                ModuleSettings dense;
                dense.kind = ModuleKind::kDense;
                dense.inputs = 12;
                dense.outputs = 1;
                dense.bias = false;
                dense.weights = std::make_shared<const std::vector<float>>(12, 1.0f);
                s.modules = {dense};
              }),
              AllOf(HasSubstr("module Dense"), HasSubstr("folded")));
  save_static("cased", TensorType::kF32, [](ModelToSave& model) {
    std::string& json = model.tokenizer["tokenizer.json"];
    const std::string from = "\"lowercase\":true";
    std::string compact = json;
    compact.erase(std::remove_if(compact.begin(), compact.end(),
                                 [](char c) { return c == ' ' || c == '\n'; }),
                  compact.end());
    ASSERT_NE(compact.find(from), std::string::npos);
    json = compact.replace(compact.find(from), from.size(), "\"lowercase\":false");
  });
  EXPECT_THAT(refusal(ErrorKind::kInput, {{"cased", 1}, {"bert", 1}}),
              AllOf(HasSubstr("different tokenizers"), HasSubstr("tokenizer: FOLDER")));
  join({{"table", 1}, {"bert", 1}}, "both");
  EXPECT_THAT(refusal(ErrorKind::kInput, {{"both", 1}, {"bert", 1}}),
              AllOf(HasSubstr("a joined model itself"), HasSubstr("join its parts")));
  EXPECT_FALSE(folder_exists(path("out")));
}

TEST_F(Join, WhatNeedsOneEncoderIsRefused) {
  join({{"table", 1}, {"bert", 1}}, "both");
  EXPECT_THAT(error_of(ErrorKind::kRecipe,
                       [&] { open("both").encode_pairs({"a"}, {"b"}, {}, silent_events()); }),
              HasSubstr("joined encoder cannot read two texts"));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { load_word_means(path("both"), silent_events()); }),
              HasSubstr("several word embeddings"));
  EXPECT_THAT(
      error_of(
          ErrorKind::kInput,
          [&] { open_weights(open_model_folder(path("both"), silent_events()).weights_path); }),
      HasSubstr("in the folders of its parts"));
}

TEST_F(Join, DamagedFoldersAreNamed) {
  const auto list = [&](const std::string& json) {
    write_file_atomic(path("both/0_Joined/config.json"), json);
  };
  struct Case {
    std::function<void()> damage;
    const char* message;
  };
  const Case cases[] = {
      {[&] { fs::remove(path("both/0_Joined/config.json")); }, "0_Joined/config.json"},
      {[&] { list("{}"); }, "\"closing_tokens\" is missing"},
      {[&] { list(R"({"closing_tokens": 1})"); }, "\"parts\" is missing"},
      {[&] { list(R"({"closing_tokens": 1, "parts": {}})"); }, "must be a list"},
      {[&] { list(R"({"closing_tokens": 1, "parts": [], "more": 1})"); }, "\"more\""},
      {[&] { list(R"({"closing_tokens": 1, "parts": []})"); }, "0 part(s); expected 2"},
      {[&] { list(R"({"closing_tokens": 1, "parts": [{"path": "0", "weight": 1}]})"); },
       "1 part(s); expected 2"},
      {[&] {
         list(R"({"closing_tokens": 1, "parts": [{"path": "0"}, {"path": "1", "weight": 1}]})");
       },
       "\"weight\" is missing"},
      {[&] {
         list(R"({"closing_tokens": 1, "parts": [{"path": "0", "weight": 0},
                                                 {"path": "1", "weight": 1}]})");
       },
       "part 0: \"weight\" is 0"},
      {[&] { list(R"({"closing_tokens": 1, "parts": [{"path": "../x", "weight": 1}]})"); },
       "leads out of the model folder"},
      {[&] { list(R"({"closing_tokens": 1, "parts": [{"path": "", "weight": 1}]})"); },
       "the \"path\" of part 0 is empty"},
      {[&] { list(R"({"closing_tokens": 99, "parts": []})"); }, "closing_tokens"},
      {[&] { fs::remove_all(path("both/0_Joined/1")); }, "0_Joined/1' does not exist"},
      {[&] { fs::remove(path("both/0_Joined/1/model.safetensors")); },
       "neither model.safetensors nor"},
      {[&] { write_file_atomic(path("both/0_Joined/0/0_StaticEmbedding/tokenizer.json"), "{}"); },
       "is not the tokenizer of"},
      {[&] {
         fs::remove_all(path("both/0_Joined/1"));
         join({{"table", 1}, {"bert", 1}}, "inner");
         fs::copy(path("inner"), path("both/0_Joined/1"), fs::copy_options::recursive);
       },
       "is a joined model itself"},
      {[&] {
         write_file_atomic(path("both/modules.json"),
                           R"([{"type": "simile.Joined", "path": "0_Joined"},
                               {"type": "a.Pooling", "path": "1_Pooling"}])");
       },
       "Joined alone"},
  };
  for (const Case& c : cases) {
    join({{"table", 1}, {"bert", 1}}, "both");
    for (const char* folder : {"both", "both/0_Joined/0", "both/0_Joined/1"}) {
      EXPECT_TRUE(fs::remove(path(std::string(folder) + "/checksums.json")));
    }
    c.damage();
    EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open("both"); }), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace simile
