// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/half.h"
#include "simile/core/hash.h"
#include "simile/model/encoder_tensors.h"
#include "simile/model/model_card.h"
#include "simile/model/model_writer.h"

namespace simile {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class BuiltinModelTest : public testing::Test {
 protected:
  BuiltinModelTest()
      : folder_(testing::TempDir() + "simile_builtin_" + std::to_string(getpid()) +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    add_model("first/tiny");
    add_model("second/tiny");
    add_model("second/small");
    make_folders(join_path(folder_, "first/no-model"));
    setenv("SIMILE_MODELS", (path("absent") + ":" + path("first") + "::" + path("second")).c_str(),
           1);
  }
  ~BuiltinModelTest() override {
    unsetenv("SIMILE_MODELS");
    std::filesystem::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void add_model(const std::string& name) const {
    make_folders(path(name));
    write_file_atomic(path(name + "/config.json"), "{}");
  }

  const std::string folder_;
};

TEST_F(BuiltinModelTest, ANameIsTheFirstFolderThatHasIt) {
  EXPECT_EQ(resolve_model("tiny"), path("first/tiny"));
  EXPECT_EQ(resolve_model("small"), path("second/small"));
}

TEST_F(BuiltinModelTest, WhatExistsOrCannotBeANameStaysAsItIs) {
  const auto before = std::filesystem::current_path();
  make_folders(path("here/tiny"));
  make_folders(path("here/other"));
  std::filesystem::current_path(path("here"));
  EXPECT_EQ(resolve_model("tiny"), path("first/tiny"));  // the one here is no model
  EXPECT_EQ(resolve_model("other"), "other");
  write_file_atomic(path("here/tiny/tokenizer.json"), "{}");
  EXPECT_EQ(resolve_model("tiny"), "tiny");
  std::filesystem::current_path(before);
  EXPECT_EQ(resolve_model(path("second/tiny")), path("second/tiny"));
  EXPECT_EQ(resolve_model("./nowhere/tiny"), "./nowhere/tiny");
  EXPECT_EQ(resolve_model("./tiny"), "./tiny");
  EXPECT_EQ(resolve_model(""), "");
}

TEST_F(BuiltinModelTest, AnUnknownNameIsAnErrorThatListsTheKnownOnes) {
  for (const char* name : {"tinny", "no-model"}) {
    try {
      resolve_model(name);
      ADD_FAILURE() << "found " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), AllOf(HasSubstr(name), HasSubstr("small, tiny"),
                                      HasSubstr(path("first")), Not(HasSubstr(path("absent")))));
    }
  }
}

TEST(ModelFolders, AreThoseOfTheVariableTheInstallationAndTheSourceTree) {
  EXPECT_THAT(
      model_folders("/a/bin", "x::/y"),
      ElementsAre("x", "/y", "/a/share/simile/models", "/a/bin/models", "/a/models", "/models"));
  EXPECT_EQ(model_folders("/1/2/3/4/5/6/7/8", "").back(), "/1/2/models");
  EXPECT_THAT(model_folders("", "x"), ElementsAre("x"));
}

using testing::HasSubstr;

class Warnings : public EventSink {
 public:
  void warning(const std::string& message) override { messages.push_back(message); }
  std::vector<std::string> messages;
};

constexpr const char* kTokenizer = R"({"normalizer":{"type":"BertNormalizer","lowercase":true},
  "pre_tokenizer":{"type":"BertPreTokenizer"},
  "post_processor":{"type":"BertProcessing","cls":["[CLS]",2],"sep":["[SEP]",3]},
  "model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4}}})";

class ModelFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "simile_model_folder_" + std::to_string(getpid()) + info->name();
    config_.layers = 1;
    config_.hidden = 8;
    config_.heads = 2;
    config_.intermediate = 16;
    config_.vocabulary = 5;
    config_.positions = 12;
    weights_.resize(static_cast<size_t>(encoder_parameter_count(config_.shape())));
    initialise_encoder_weights(config_, 3, weights_.data());
  }

  void TearDown() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::remove_all(folder_ + "-copy");
  }

  // So that files can be changed, as in folders of others.
  void forget_checksums() const { std::filesystem::remove(folder_ + "/checksums.json"); }

  void save(const ModelSettings& settings, const std::string& card = "# Model\n") {
    ModelToSave model;
    model.settings = settings;
    model.weights = weights_.data();
    model.tokenizer = {{"tokenizer.json", kTokenizer}};
    model.model_card = card;
    model.self_test.texts = {"a"};
    model.self_test.vectors = Matrix<float>(1, 8, 0.5f);
    save_model_folder(folder_, model);
    forget_checksums();
  }

  // A model with the heads "same" (concat, weights 0, 1, 2 ...) and "mood" (three classes).
  std::vector<HeadSettings> save_heads() {
    HeadSettings same, mood;
    same.name = "same";
    same.kind = "concat";
    same.input = "pair";
    same.output = "probability";
    mood.name = "mood";
    mood.output = "classes";
    mood.class_names = {"bad", "so so", "good: \"very\""};
    std::vector<float> numbers(27);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    ModelToSave model;
    model.settings = settings();
    model.weights = weights_.data();
    model.weight_type = TensorType::kF16;
    model.tokenizer = {{"tokenizer.json", kTokenizer}};
    model.heads = {{same, numbers.data()}, {mood, numbers.data()}};
    save_model_folder(folder_, model);
    forget_checksums();
    return {same, mood};
  }

  static ModuleSettings dense(int64_t inputs, int64_t outputs) {
    ModuleSettings module;
    module.kind = ModuleKind::kDense;
    module.inputs = inputs;
    module.outputs = outputs;
    return module;
  }

  static ModuleSettings layer_norm(int64_t size) {
    ModuleSettings module = dense(size, size);
    module.kind = ModuleKind::kLayerNorm;
    return module;
  }

  // Gives a module the weights 0.5, 1.5, 2.5 ...
  static void fill(ModuleSettings& module) {
    const std::vector<ParameterSlot> layout = module_layout(module);
    if (layout.empty()) return;
    std::vector<float> numbers(static_cast<size_t>(layout.back().offset + layout.back().size));
    std::iota(numbers.begin(), numbers.end(), 0.5f);
    module.weights = std::make_shared<const std::vector<float>>(numbers);
  }

  ModelSettings settings() const {
    ModelSettings s;
    s.encoder = config_;
    s.max_length = 10;
    return s;
  }

  void put(const std::string& name, const std::string& bytes) {
    make_folders(std::filesystem::path(join_path(folder_, name)).parent_path().string());
    write_file_atomic(join_path(folder_, name), bytes);
  }

  ModelFolder open() { return open_model_folder(folder_, silent_events()); }

  void expect_error(const std::string& message) {
    try {
      open();
      ADD_FAILURE() << "opened; expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

  std::string folder_;
  EncoderConfig config_;
  std::vector<float> weights_;
};

TEST_F(ModelFolderTest, WrittenFolderIsReadBack) {
  ModelSettings s = settings();
  s.pooling = PoolingMode::kCls;
  s.prompts = {{"query", "query: "}, {"document", ""}};
  s.default_prompt = "query";
  s.similarity = "dot";
  s.dimensions = 4;
  save(s);
  Warnings warnings;
  const ModelFolder model = open_model_folder(folder_, warnings);
  EXPECT_TRUE(warnings.messages.empty());
  EXPECT_EQ(model.settings.pooling, PoolingMode::kCls);
  EXPECT_TRUE(model.settings.normalize);
  EXPECT_EQ(model.settings.max_length, 10);
  EXPECT_EQ(model.settings.prompts, s.prompts);
  EXPECT_EQ(model.settings.default_prompt, "query");
  EXPECT_EQ(model.settings.similarity, "dot");
  EXPECT_EQ(model.settings.dimensions, 4);
  std::vector<float> read(weights_.size());
  read_encoder_weights(model.weights_path, model.settings.encoder, read.data(), silent_events());
  EXPECT_EQ(read, weights_);
  EXPECT_EQ(read_self_test(join_path(folder_, "self_test.json")).texts.size(), 1u);
  EXPECT_EQ(read_file(join_path(folder_, "README.md")), "# Model\n");
}

TEST_F(ModelFolderTest, HalfPrecisionIsSavedOnceAndForAll) {
  ModelToSave model;
  model.settings = settings();
  model.weights = weights_.data();
  model.weight_type = TensorType::kF16;
  model.tokenizer = {{"tokenizer.json", kTokenizer}};
  save_model_folder(folder_, model);
  const std::string bytes = read_file(join_path(folder_, "model.safetensors"));
  EXPECT_THAT(read_file(join_path(folder_, "config.json")),
              HasSubstr("\"torch_dtype\": \"float32\""));
  const std::string fingerprint = model_fingerprint(open());
  std::vector<float> read(weights_.size());
  read_encoder_weights(open().weights_path, config_, read.data(), silent_events());
  round_to_halves(weights_.data(), static_cast<int64_t>(weights_.size()));
  EXPECT_EQ(read, weights_);
  model.weights = read.data();
  save_model_folder(folder_, model);
  EXPECT_EQ(read_file(join_path(folder_, "model.safetensors")), bytes);
  EXPECT_EQ(model_fingerprint(open()), fingerprint);
  model.weight_type = TensorType::kI64;
  EXPECT_THROW(save_model_folder(folder_, model), Error);
}

TEST_F(ModelFolderTest, AModelIsOpenedByItsName) {
  save(settings());
  setenv("SIMILE_MODELS", std::filesystem::path(folder_).parent_path().c_str(), 1);
  const std::string name = std::filesystem::path(folder_).filename().string();
  EXPECT_EQ(open_model_folder(name, silent_events()).path, folder_);
  unsetenv("SIMILE_MODELS");
  EXPECT_THROW(open_model_folder(name, silent_events()), Error);
}

TEST_F(ModelFolderTest, TheTokenizersCompanionFilesAreMade) {
  save(settings());
  EXPECT_EQ(read_file(join_path(folder_, "vocab.txt")), "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n");
  const std::string config = read_file(join_path(folder_, "tokenizer_config.json"));
  EXPECT_THAT(config, HasSubstr("\"tokenizer_class\": \"BertTokenizer\""));
  EXPECT_THAT(config, HasSubstr("\"do_lower_case\": true"));
  EXPECT_THAT(config, HasSubstr("\"model_max_length\": 10"));
  EXPECT_THAT(read_file(join_path(folder_, "special_tokens_map.json")), HasSubstr("\"[CLS]\""));
  // The class would build other parts than these.
  for (const char* part : {"clean_text", "pre_tokenizer", "post_processor"}) {
    nlohmann::json other = nlohmann::json::parse(kTokenizer);
    other.erase(part);
    if (part == std::string("clean_text")) other["normalizer"][part] = false;
    TokenizerFiles files = {{"tokenizer.json", other.dump()}};
    complete_tokenizer_files(files, 10);
    EXPECT_THAT(files["tokenizer_config.json"], HasSubstr("PreTrainedTokenizerFast")) << part;
  }
}

TEST_F(ModelFolderTest, SpecialTokensOfOtherTokenizersAreNamedByTheirRoles) {
  TokenizerFiles files = {
      {"tokenizer.json",
       R"({"added_tokens":[{"content":"<s>"},{"content":"</s>"},{"content":"<pad>"},)"
       R"({"content":"<mask>"},{"content":"[UNK]"}],"model":{"type":"WordPiece","vocab":{"a":0}}})"}};
  complete_tokenizer_files(files, 10);
  const std::string& config = files["tokenizer_config.json"];
  EXPECT_THAT(config, HasSubstr("\"tokenizer_class\": \"PreTrainedTokenizerFast\""));
  EXPECT_THAT(config, HasSubstr("\"pad_token\": \"<pad>\""));
  EXPECT_THAT(config, HasSubstr("\"unk_token\": \"[UNK]\""));
  EXPECT_THAT(files["special_tokens_map.json"], HasSubstr("\"mask_token\": \"<mask>\""));
}

TEST_F(ModelFolderTest, OddTokenizerFilesAreKeptOrRefusedButNeverTrusted) {
  for (const char* json :
       {"{}", R"({"model":5})", R"({"model":{"type":5}})", R"({"model":{"type":"BPE","vocab":{}}})",
        R"({"model":{"type":"WordPiece","vocab":{"a":0,"b":7}}})"}) {
    TokenizerFiles files = {{"tokenizer.json", json}};
    EXPECT_NO_THROW(complete_tokenizer_files(files, 10)) << json;
    EXPECT_EQ(files.count("vocab.txt"), 0u);
  }
  for (const char* json : {"[", R"({"model":{"type":"WordPiece","vocab":{"a":0,"b":0}}})",
                           R"({"model":{"type":"WordPiece","vocab":{"a":"x"}}})"}) {
    TokenizerFiles files = {{"tokenizer.json", json}};
    EXPECT_THROW(complete_tokenizer_files(files, 10), Error) << json;
  }
}

TEST_F(ModelFolderTest, WithoutNormalizeThereAreTwoModules) {
  ModelSettings s = settings();
  s.normalize = false;
  save(s);
  EXPECT_FALSE(open().settings.normalize);
}

TEST_F(ModelFolderTest, DropoutIsPassedOver) {
  save(settings());
  const std::string fingerprint = model_fingerprint(open());
  put("modules.json",
      R"([{"type":"sentence_transformers.Transformer"},{"type":"sentence_transformers.Pooling","path":"1_Pooling"},
          {"type":"sentence_transformers.Dropout","path":"2_Dropout"},{"type":"sentence_transformers.Normalize","path":"3_Normalize"}])");
  put("2_Dropout/config.json", R"({"dropout":0.2})");
  EXPECT_EQ(model_fingerprint(open()), fingerprint);
}

TEST_F(ModelFolderTest, PoolingSaysNoMoreThanOlderVersionsKnow) {
  ModelSettings s = settings();
  save(s);
  EXPECT_EQ(nlohmann::json::parse(read_file(join_path(folder_, "1_Pooling/config.json"))),
            nlohmann::json::parse(R"({"word_embedding_dimension":8,"pooling_mode_cls_token":false,
                "pooling_mode_max_tokens":false,"pooling_mode_mean_tokens":true,
                "pooling_mode_mean_sqrt_len_tokens":false})"));
  s.pooling.include_prompt = false;
  s.pooling.modes = {PoolingMode::kLastToken};
  save(s);
  EXPECT_EQ(open().settings.pooling, s.pooling);
}

TEST_F(ModelFolderTest, TheNewerSchemaIsRead) {
  save(settings());
  std::filesystem::remove_all(folder_ + "/2_Normalize");
  put("modules.json",
      R"([{"idx":0,"name":"0","path":"","type":"sentence_transformers.base.modules.transformer.Transformer"},
          {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
          {"idx":2,"name":"2","path":"2_Normalize","type":"sentence_transformers.base.modules.normalize.Normalize"}])");
  put("1_Pooling/config.json",
      R"({"embedding_dimension":8,"pooling_mode":"max","include_prompt":true})");
  put("sentence_bert_config.json",
      R"({"transformer_task":"feature-extraction","module_output_name":"token_embeddings"})");
  put("tokenizer_config.json", R"({"model_max_length":9})");
  const ModelFolder model = open();
  EXPECT_EQ(model.settings.pooling, PoolingMode::kMax);
  EXPECT_TRUE(model.settings.normalize);
  EXPECT_EQ(model.settings.max_length, 9);
  put("tokenizer_config.json", R"({"model_max_length":1000000000000000019884624838656})");
  EXPECT_EQ(open().settings.max_length, 12);
}

TEST_F(ModelFolderTest, TheLengthLimitNeverExceedsThePositions) {
  save(settings());
  put("sentence_bert_config.json", R"({"max_seq_length":512})");
  EXPECT_EQ(open().settings.max_length, 12);
  put("sentence_bert_config.json", R"({"max_seq_length":null})");
  EXPECT_EQ(open().settings.max_length, 10);  // tokenizer_config.json
}

TEST_F(ModelFolderTest, APlainHuggingFaceFolderMeansMeanWithAWarning) {
  save(settings());
  std::filesystem::remove(folder_ + "/modules.json");
  Warnings warnings;
  const ModelFolder model = open_model_folder(folder_, warnings);
  EXPECT_EQ(model.settings.pooling, PoolingMode::kMean);
  EXPECT_FALSE(model.settings.normalize);
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_THAT(warnings.messages[0], HasSubstr("the pooling mean, as is usual for bert"));
}

TEST_F(ModelFolderTest, PoolingsOfBothSchemasAreRead) {
  using Modes = std::vector<PoolingMode>;
  const std::pair<const char*, Modes> cases[] = {
      {R"({"word_embedding_dimension":8})", {PoolingMode::kMean}},
      {R"({"pooling_mode_mean_tokens":true,"pooling_mode_cls_token":true})",
       {PoolingMode::kCls, PoolingMode::kMean}},
      {R"({"pooling_mode_lasttoken":true,"pooling_mode_weightedmean_tokens":true,
           "pooling_mode_mean_sqrt_len_tokens":true,"pooling_mode_max_tokens":true})",
       {PoolingMode::kMax, PoolingMode::kMeanSqrtLength, PoolingMode::kWeightedMean,
        PoolingMode::kLastToken}},
      {R"({"pooling_mode":["lasttoken"]})", {PoolingMode::kLastToken}},
      {R"({"pooling_mode":"weightedmean","pooling_mode_cls_token":true})",
       {PoolingMode::kWeightedMean}},
      {R"({"pooling_mode":["mean","cls"]})", {PoolingMode::kMean, PoolingMode::kCls}},
  };
  for (const auto& [bytes, modes] : cases) {
    save(settings());
    put("1_Pooling/config.json", bytes);
    const ModelSettings read = open().settings;
    EXPECT_EQ(read.pooling.modes, modes) << bytes;
    EXPECT_EQ(read.embedding_size(), 8 * static_cast<int64_t>(modes.size()));
    save(read);  // the older schema keeps all of it, the order too
    EXPECT_EQ(open().settings.pooling.modes, modes) << bytes;
  }
}

TEST_F(ModelFolderTest, ModulesAreWrittenAndReadBack) {
  ModelSettings s = settings();
  s.pooling.modes = {PoolingMode::kCls, PoolingMode::kMean};
  s.pooling.include_prompt = false;
  s.lower_case = true;
  s.modules = {dense(16, 6), dense(6, 6), layer_norm(6), ModuleSettings{}, dense(6, 4)};
  s.modules[0].residual = true;
  s.modules[0].activation = "GELU";
  s.modules[1].bias = false;
  s.modules[3].inputs = s.modules[3].outputs = 6;
  for (ModuleSettings& module : s.modules) fill(module);
  s.dimensions = 3;
  save(s);
  const ModelSettings read = open().settings;
  EXPECT_EQ(read.pooling, s.pooling);
  EXPECT_TRUE(read.normalize);
  EXPECT_THAT(read_file(join_path(folder_, "sentence_bert_config.json")),
              HasSubstr("\"do_lower_case\": true"));
  EXPECT_EQ(read.embedding_size(), 4);
  EXPECT_EQ(read.dimensions, 3);
  ASSERT_EQ(read.modules.size(), s.modules.size());
  for (size_t i = 0; i < s.modules.size(); ++i) {
    EXPECT_EQ(read.modules[i].kind, s.modules[i].kind);
    EXPECT_EQ(read.modules[i].outputs, s.modules[i].outputs);
    EXPECT_EQ(read.modules[i].activation, s.modules[i].activation);
    EXPECT_EQ(read.modules[i].bias, s.modules[i].bias);
    EXPECT_EQ(read.modules[i].residual, s.modules[i].residual);
    EXPECT_EQ(read.modules[i].weights == nullptr, s.modules[i].weights == nullptr);
    if (!read.modules[i].weights) continue;
    EXPECT_EQ(*read.modules[i].weights, *s.modules[i].weights);
  }
  const std::string fingerprint = model_fingerprint(open());
  std::vector<float> other = *s.modules[0].weights;
  other[0] += 1;
  s.modules[0].weights = std::make_shared<const std::vector<float>>(other);
  save(s);
  EXPECT_NE(model_fingerprint(open()), fingerprint);
}

TEST_F(ModelFolderTest, WhatADenseModuleCannotBeIsNamed) {
  const char* const good = R"({"in_features":8,"out_features":4,"bias":true,
    "activation_function":"torch.nn.modules.activation.Tanh"})";
  struct Case {
    const char* config;
    const char* message;
  };
  const Case cases[] = {
      {R"({"out_features":4})", "\"in_features\" is missing"},
      {R"({"in_features":9,"out_features":4})",
       "\"in_features\" is 9, but the module before gives"},
      {R"({"in_features":8,"out_features":0})", "\"out_features\""},
      {R"({"in_features":8,"out_features":5})", "has shape [4, 8], expected [5, 8]"},
      {R"({"in_features":8,"out_features":4,"bias":false})", "'linear.bias' is no part"},
      {R"({"in_features":8,"out_features":4,"use_residual":true})", "'residual.weight'"},
      {R"({"in_features":8,"out_features":4,"activation_function":"torch.nn.Softmax"})",
       "\"activation_function\" is \"torch.nn.Softmax\"; known: torch.nn.modules.linear.Identity"},
      {R"({"in_features":8,"out_features":4,"dropout":0.5})", "\"dropout\" is"},
      {R"({"in_features":8,"out_features":4,"module_input_name":"token_embeddings"})",
       "\"module_input_name\" is \"token_embeddings\""},
  };
  ModelSettings s = settings();
  s.modules = {dense(8, 4)};
  fill(s.modules[0]);
  save(s);
  put("2_Dense/config.json", good);
  EXPECT_EQ(open().settings.modules[0].activation, "Tanh");
  put("2_Dense/config.json", R"({"in_features":8,"out_features":4})");
  EXPECT_EQ(open().settings.modules[0].activation, "Tanh");  // sentence-transformers' default
  for (const Case& c : cases) {
    put("2_Dense/config.json", c.config);
    expect_error(c.message);
  }
  put("2_Dense/config.json", good);
  std::filesystem::remove(folder_ + "/2_Dense/model.safetensors");
  expect_error("2_Dense' has neither model.safetensors");
  const float broken[4] = {1, 2, std::numeric_limits<float>::quiet_NaN(), 4};
  write_safetensors(
      folder_ + "/2_Dense/model.safetensors",
      {{"linear.weight", {4, 8}, s.modules[0].weights->data()}, {"linear.bias", {4}, broken}});
  expect_error("'linear.bias' holds a number that is not finite");
  std::filesystem::remove(folder_ + "/2_Dense/config.json");
  expect_error("2_Dense/config.json");
}

TEST_F(ModelFolderTest, WhatCannotBeUsedIsNamed) {
  struct Case {
    const char* file;
    const char* bytes;
    const char* message;
  };
  const Case cases[] = {
      {"modules.json",
       R"([{"type":"sentence_transformers.Transformer"},{"type":"sentence_transformers.Pooling","path":"1_Pooling"},{"type":"sentence_transformers.LSTM","path":"2_LSTM"}])",
       "\"LSTM\" is not supported; known: Transformer, Pooling, StaticEmbedding, Dense, "
       "LayerNorm, Normalize, Dropout"},
      {"modules.json", R"([{"type":"simile.Joined","path":"0_Joined"}])",
       "\"simile.Joined\" (several encoders side by side, such as simile-mini-2) is no longer "
       "read"},
      {"modules.json",
       R"([{"type":"sentence_transformers.Transformer"},{"type":"my_code.Pooling"}])",
       "the module \"my_code.Pooling\" is Python code of the model's own"},
      {"modules.json", R"([{"type":"simile.StaticEmbedding","path":"0_StaticEmbedding"}])",
       "\"simile.StaticEmbedding\" (a table that weighs tokens by place and repetition) is no "
       "longer"},
      {"modules.json",
       R"([{"type":"sentence_transformers.Transformer"},{"type":"sentence_transformers.Dropout"},{"type":"sentence_transformers.Pooling","path":"1_Pooling"}])",
       "in this order"},
      {"modules.json",
       R"([{"type":"sentence_transformers.Transformer"},{"type":"sentence_transformers.Dense"},{"type":"sentence_transformers.Pooling","path":"1_Pooling"}])",
       "in this order"},
      {"modules.json",
       R"([{"type":"sentence_transformers.Transformer","kwargs":["task"]},{"type":"sentence_transformers.Pooling"}])",
       "\"kwargs\" is"},
      {"modules.json",
       R"([{"type":"sentence_transformers.Transformer"},{"type":"sentence_transformers.Pooling","path":"/etc"}])",
       "leads out"},
      {"1_Pooling/config.json", R"({"pooling_mode":"median"})", "\"median\"; known: cls, max"},
      {"1_Pooling/config.json", R"({"pooling_mode":["mean","median"]})", "\"median\""},
      {"1_Pooling/config.json", R"({"pooling_mode":[]})", "names 0 modes"},
      {"1_Pooling/config.json", R"({"pooling_mode":3})", "\"pooling_mode\" is"},
      {"1_Pooling/config.json", R"({"pooling_mode_whitening":true})",
       "\"pooling_mode_whitening\" is"},
      {"1_Pooling/config.json", R"({"embedding_dimension":16,"pooling_mode":"mean"})",
       "\"embedding_dimension\" is 16, but config.json says \"hidden_size\" 8"},
      {"modules.json", R"([{"type":"sentence_transformers.Transformer"}])", "in this order"},
      {"modules.json",
       R"([{"type":"sentence_transformers.Pooling"},{"type":"sentence_transformers.Transformer"}])",
       "in this order"},
      {"modules.json",
       R"([{"type":"sentence_transformers.Transformer","path":"../x"},{"type":"sentence_transformers.Pooling"}])",
       "leads out"},
      {"modules.json", "{}", "list of modules"},
      {"modules.json", "[1]", "JSON object"},
      {"config_sentence_transformers.json", R"({"prompts":{"q":1}})", "\"prompts\" must be"},
      {"config_sentence_transformers.json", R"({"prompts":"q"})", "\"prompts\" must be"},
      {"config_sentence_transformers.json", R"({"prompts":{},"default_prompt_name":"q"})",
       "\"default_prompt_name\""},
      {"config_sentence_transformers.json", R"({"similarity_fn_name":"hamming"})",
       "\"similarity_fn_name\""},
      {"config_sentence_transformers.json", R"({"truncate_dim":9})", "\"truncate_dim\""},
      {"config_sentence_transformers.json", R"({"model_type":"SparseEncoder"})",
       "\"model_type\" is \"SparseEncoder\""},
      {"config_sentence_transformers.json", R"({"router":1})", "\"router\" is"},
      {"sentence_bert_config.json", R"({"max_seq_length":0})", "\"max_seq_length\""},
      {"sentence_bert_config.json", R"({"transformer_task":"fill-mask"})",
       "\"transformer_task\" is \"fill-mask\""},
      {"sentence_bert_config.json",
       R"({"modality_config":{"text":{"method":"get_text_features"}}})",
       "\"method\" is \"get_text_features\""},
      {"sentence_bert_config.json", R"({"modality_config":{"image":{}}})", "\"text\" is missing"},
      {"sentence_bert_config.json", R"({"module_output_name":"logits"})",
       "\"module_output_name\" is"},
      {"sentence_bert_config.json", R"({"config_args":{"num_hidden_layers":2}})",
       "\"config_args\": \"num_hidden_layers\" is"},
      {"sentence_bert_config.json", R"({"model_args":[1]})", "must be an object"},
      {"sentence_bert_config.json", R"({"model_args":{"torch_dtype":"bfloat16"}})",
       "\"torch_dtype\" is string \"bfloat16\", to which sentence-transformers rounds the weights"},
      {"sentence_bert_config.json", R"({"model_kwargs":{"dtype":"torch.float16"}})",
       "model.safetensors holds them in F32"},
      {"sentence_bert_config.json", R"({"temperature":2})", "\"temperature\" is"},
      {"config.json", "not json", "not valid JSON"},
  };
  for (const Case& c : cases) {
    save(settings());
    put(c.file, c.bytes);
    expect_error(c.message);
  }
}

TEST_F(ModelFolderTest, LowerCaseIsForTokenizersThatDoNotLowerThemselves) {
  save(settings());
  put("sentence_bert_config.json", R"({"max_seq_length":10,"do_lower_case":true,
    "model_args":{"attn_implementation":"sdpa"}})");
  EXPECT_FALSE(open().settings.lower_case);
  const auto put_normalizer = [&](const std::string& normalizer) {
    put("tokenizer.json", R"({"model":{"type":"WordLevel","unk_token":"a","vocab":{"a":0}},)"
                          R"("normalizer":)" +
                              normalizer + "}");
  };
  put_normalizer(R"({"type":"Sequence","normalizers":[{"type":"Lowercase"}]})");
  EXPECT_FALSE(open().settings.lower_case);
  put_normalizer(R"({"type":"NFC"})");
  EXPECT_TRUE(open().settings.lower_case);
}

TEST_F(ModelFolderTest, TrainedTemperaturesAreKept) {
  ModelSettings trained = settings();
  save(trained);
  EXPECT_FALSE(file_exists(join_path(folder_, "simile.json")));
  trained.temperatures = {{"bsc", 0.07}, {"simcse", 0.2}};
  save(trained);
  EXPECT_EQ(open().settings.temperatures, trained.temperatures);
  put("simile.json", R"({"temperatures": {"bsc": "warm"}})");
  expect_error("simile.json");
}

TEST_F(ModelFolderTest, HeadsAreWrittenAndReadBackByName) {
  const std::vector<HeadSettings> heads = save_heads();
  const ModelFolder model = open();
  ASSERT_EQ(model.heads.size(), 2u);
  EXPECT_EQ(model.heads[0].settings.name, "mood");
  EXPECT_EQ(model.heads[0].settings.class_names, heads[1].class_names);
  EXPECT_EQ(model.heads[1].settings.name, "same");
  const std::vector<float> same = read_head_weights(model.heads[1], 8);
  ASSERT_EQ(same.size(), 25u);
  EXPECT_EQ(same[24], 24.0f);
  save(settings());
  EXPECT_TRUE(open().heads.empty());
  ModelToSave twice;
  twice.settings = settings();
  twice.weights = weights_.data();
  twice.tokenizer = {{"tokenizer.json", kTokenizer}};
  twice.heads = {{heads[0], weights_.data()}, {heads[0], weights_.data()}};
  EXPECT_THROW(save_model_folder(folder_, twice), Error);
}

TEST_F(ModelFolderTest, HeadsThatCannotBeUsedAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"name":"same","kind":"concat","input":"pair","colour":"red"})", "unknown key 'colour'"},
      {R"({"name":"same","kind":"cosin","input":"pair"})", "did you mean"},
      {R"({"name":"same","kind":"concat"})", "cannot take input 'single'"},
      {R"({"name":"other","kind":"concat","input":"pair"})", "like its folder"},
      {"{", "heads/same/config.json"}};
  for (const auto& [json, message] : cases) {
    save_heads();
    put("heads/same/config.json", json);
    expect_error(message);
    expect_error("heads/same/config.json");
  }
  std::filesystem::remove(folder_ + "/heads/same/config.json");
  expect_error("heads/same/config.json' does not exist");
}

TEST_F(ModelFolderTest, WeightsOfHeadsThatCannotBeUsedAreNamed) {
  const auto expect_weights_error = [&](const std::vector<TensorView>& tensors,
                                        const std::string& message) {
    save_heads();
    write_safetensors(join_path(folder_, "heads/same/model.safetensors"), tensors);
    try {
      read_head_weights(open().heads[1], 8);
      ADD_FAILURE() << "read; expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), HasSubstr(message));
      EXPECT_THAT(error.what(), HasSubstr("heads/same/model.safetensors"));
    }
  };
  const std::vector<float> zeros(25);
  std::vector<float> broken(25);
  broken[7] = std::numeric_limits<float>::quiet_NaN();
  const TensorView weight{"layers.0.weight", {1, 24}, zeros.data()};
  const TensorView bias{"layers.0.bias", {1}, zeros.data()};
  expect_weights_error({weight}, "'layers.0.bias' of shape [1] is missing");
  expect_weights_error({{"layers.0.weight", {24}, zeros.data()}, bias}, "expected [1, 24]");
  expect_weights_error({{"layers.0.weight", {1, 24}, broken.data()}, bias}, "not finite");
  expect_weights_error({weight, bias, {"layers.1.bias", {1}, zeros.data()}}, "is no part of");
  std::filesystem::remove(folder_ + "/heads/same/model.safetensors");
  EXPECT_THROW(read_head_weights(open().heads[1], 8), Error);
}

TEST_F(ModelFolderTest, MissingFilesAreNamed) {
  expect_error("does not exist");
  save(settings());
  std::filesystem::remove(folder_ + "/model.safetensors");
  expect_error("neither model.safetensors");
  put("pytorch_model.bin", "x");
  EXPECT_THAT(open().weights_path, HasSubstr("pytorch_model.bin"));
  put("model.safetensors", "x");
  std::filesystem::remove(folder_ + "/tokenizer.json");
  EXPECT_THAT(open().tokenizer_path, HasSubstr("vocab.txt"));
  std::filesystem::remove(folder_ + "/vocab.txt");
  expect_error("neither tokenizer.json nor vocab.txt");
}

TEST_F(ModelFolderTest, TheFingerprintFollowsWhatVectorsDependOn) {
  save(settings());
  const std::string first = model_fingerprint(open());
  EXPECT_EQ(first.size(), 32u);
  save(settings(), "# Another card\n");
  EXPECT_EQ(model_fingerprint(open()), first);
  const std::string copy = folder_ + "-copy";
  std::filesystem::remove_all(copy);
  std::filesystem::copy(folder_, copy, std::filesystem::copy_options::recursive);
  EXPECT_EQ(model_fingerprint(open_model_folder(copy, silent_events())), first);
  ModelSettings s = settings();
  s.pooling = PoolingMode::kMax;
  save(s);
  EXPECT_NE(model_fingerprint(open()), first);
  s = settings();
  s.similarity = "euclidean";
  save(s);
  EXPECT_NE(model_fingerprint(open()), first);
  weights_[100] += 1e-7f;
  save(settings());
  EXPECT_NE(model_fingerprint(open()), first);
}

TEST(Fingerprint, EveryBitAndTheLengthMatter) {
  std::string bytes((3 << 20) + 5, 'x');
  const std::string first = hash_bytes(bytes);
  EXPECT_EQ(hash_bytes(bytes), first);
  for (const size_t at : {size_t{0}, size_t{31}, size_t{1 << 20}, bytes.size() - 1}) {
    bytes[at] ^= 1;
    EXPECT_NE(hash_bytes(bytes), first) << at;
    bytes[at] ^= 1;
  }
  EXPECT_NE(hash_bytes(bytes + '\0'), first);
  EXPECT_NE(hash_bytes(""), hash_bytes(std::string(1, '\0')));
}

TEST(ModelFolderSlow, RealFoldersOfSentenceTransformersAreUnderstood) {
  const std::string folder = SIMILE_SOURCE_DIR "/../shared/tokenizers/bert-base-uncased-MiniLM-L6";
  if (!folder_exists(folder)) GTEST_SKIP() << "skipped: no ../shared";
  try {
    open_model_folder(folder, silent_events());
    FAIL() << "there are no weights";
  } catch (const Error& error) {  // the last check: everything else was read
    EXPECT_THAT(error.what(), HasSubstr("neither model.safetensors"));
  }
}

}  // namespace
}  // namespace simile
