// SPDX-License-Identifier: Apache-2.0
// Cross-encoders as transformers and sentence-transformers save them. Scores of random ones of all
// families are compared with sentence_transformers.CrossEncoder by
// tools/conformance/compare_sentence_transformers.py --part rerank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/model_folder.h"
#include "simile/model/safetensors.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using detail::Json;
using testing::HasSubstr;

const std::string kGolden = SIMILE_SOURCE_DIR "/tests/golden/tiny-bert";
constexpr int64_t H = 32;

class CrossEncoderFolder : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < W_.size(); ++i) W_[i] = std::sin(0.7f * static_cast<float>(i));
    for (size_t i = 0; i < b_.size(); ++i) b_[i] = std::cos(static_cast<float>(i));
    for (size_t i = 0; i < w_.size(); ++i) w_[i] = std::sin(1.3f * static_cast<float>(i)) / 2;
    write("classifier");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& output) const {
    fs::remove_all(folder_);
    fs::copy(kGolden, folder_);
    const SafetensorsFile file(join_path(kGolden, "model.safetensors"));
    std::vector<TensorView> tensors;
    for (const TensorInfo& tensor : file.tensors()) {
      if (starts_with(tensor.name, "pooler.")) continue;
      tensors.push_back({tensor.name, tensor.shape, file.bytes(tensor).data(), tensor.type});
    }
    tensors.push_back({"pooler.dense.weight", {H, H}, W_.data()});
    tensors.push_back({"pooler.dense.bias", {H}, b_.data()});
    tensors.push_back({output + ".weight", {1, H}, w_.data()});
    tensors.push_back({output + ".bias", {1}, &c_});
    write_safetensors(join_path(folder_, "model.safetensors"), tensors);
    set({{"architectures", {"BertForSequenceClassification"}}, {"id2label", {{"0", "LABEL_0"}}}});
  }

  void put(const std::string& name, const Json& json) const {
    write_file_atomic(join_path(folder_, name), json.dump());
  }
  void set(const Json& keys) const {
    Json config = detail::read_json(join_path(folder_, "config.json"));
    config.update(keys);
    put("config.json", config);
  }

  double score() const {
    const SentenceEncoder encoder = SentenceEncoder::load(folder_, silent_events());
    const ModelFolder model = open_model_folder(folder_, silent_events(), ModelUse::kPairs);
    const Head head = load_head(model, "");
    const Matrix<float> logits =
        Predictor(encoder, head).predict({"the cat"}, {"a dog ran"}, {}, silent_events());
    return *head_probabilities(head.settings(), logits).row(0);
  }

  // w tanh(W h_1 + b) + c of the encoder's first state.
  double logit() const {
    ModelFolder plain = open_model_folder(kGolden, silent_events());
    plain.settings.pooling = PoolingMode::kCls;
    const SentenceEncoder encoder(
        open_encoder(plain.weights_path, plain.settings.encoder, silent_events()), plain.settings,
        Tokenizer::load(plain.tokenizer_path));
    const Matrix<float> h = encoder.encode_pairs({"the cat"}, {"a dog ran"}, {}, silent_events());
    double sum = c_;
    for (int64_t i = 0; i < H; ++i) {
      double x = b_[i];
      for (int64_t j = 0; j < H; ++j) x += W_[i * H + j] * h.row(0)[j];
      sum += w_[i] * std::tanh(x);
    }
    return sum;
  }

  std::string error() const {
    return error_of(ErrorKind::kInput, [&] { score(); });
  }

  std::vector<float> W_ = std::vector<float>(H * H), b_ = std::vector<float>(H),
                     w_ = std::vector<float>(H);
  float c_ = 0.25f;
  const std::string folder_ = testing::TempDir() + "simile_cross_" + std::to_string(getpid());
};

TEST_F(CrossEncoderFolder, ScoresByTheClassifierAndItsActivation) {
  const double logit = this->logit(), probability = 1 / (1 + std::exp(-logit));
  EXPECT_NEAR(score(), probability, 1e-5) << "the sigmoid, where no file names an activation";
  const std::string identity = "torch.nn.modules.linear.Identity";
  set({{"sbert_ce_default_activation_function", identity}});
  EXPECT_NEAR(score(), logit, 1e-5);
  set({{"sentence_transformers", {{"activation_fn", "torch.nn.modules.activation.Sigmoid"}}}});
  EXPECT_NEAR(score(), probability, 1e-5);
  // As CrossEncoder of sentence-transformers 6 saves it.
  put("modules.json",
      Json::array({{{"idx", 0},
                    {"name", "0"},
                    {"path", ""},
                    {"type", "sentence_transformers.base.modules.transformer.Transformer"}}}));
  put("sentence_bert_config.json",
      {{"transformer_task", "sequence-classification"},
       {"modality_config", {{"text", {{"method", "forward"}, {"method_output_name", "logits"}}}}},
       {"module_output_name", "scores"}});
  put("config_sentence_transformers.json", {{"model_type", "CrossEncoder"},
                                            {"activation_fn", identity},
                                            {"default_prompt_name", nullptr},
                                            {"prompts", Json::object()}});
  EXPECT_NEAR(score(), logit, 1e-5);
  put("tokenizer_config.json", {{"model_input_names", {"input_ids", "attention_mask"}}});
  EXPECT_GT(std::abs(score() - logit), 1e-4) << "without token types";
}

TEST_F(CrossEncoderFolder, ItsHeadIsNotToldAsUnused) {
  struct Told : EventSink {
    void info(const std::string& message) override { text += message; }
    std::string text;
  } told;
  SentenceEncoder::load(folder_, told);
  EXPECT_EQ(told.text, "");
}

TEST_F(CrossEncoderFolder, WhatIsOtherwiseIsRefusedByName) {
  EXPECT_THAT(error_of(ErrorKind::kInput, [&] { open_model_folder(folder_, silent_events()); }),
              HasSubstr("--rerank"));
  EXPECT_THAT(
      error_of(ErrorKind::kInput,
               [&] {
                 SentenceEncoder::load(folder_, silent_events()).encode({"a"}, {}, silent_events());
               }),
      HasSubstr("makes no vectors"));
  set({{"sentence_transformers", {{"activation_fn", "torch.nn.modules.activation.Tanh"}}}});
  EXPECT_THAT(error(), HasSubstr("activation.Tanh"));
  set({{"sentence_transformers", nullptr}});
  write("score");
  EXPECT_THAT(error(), HasSubstr("'classifier.weight' of shape [1, 32], but it is missing"));
}

}  // namespace
}  // namespace simile
