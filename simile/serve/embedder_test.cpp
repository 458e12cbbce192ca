// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/embedder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "simile/model/encoder_reader.h"
#include "simile/model/model_folder.h"
#include "simile/serve/detail/serve_fixture_test.h"

namespace simile {
namespace {

using testing::HasSubstr;

TextGroup group_of(const std::vector<std::string>& texts) {
  TextGroup group;
  for (const std::string& text : texts) {
    group.inputs.emplace_back();
    group.inputs.back().text = text;
  }
  return group;
}

EncodeOptions encode_options(bool normalize, int64_t dimensions = 0) {
  EncodeOptions options;
  options.normalize = normalize;
  options.dimensions = dimensions;
  return options;
}

class EmbedderTest : public testing::Test {
 protected:
  explicit EmbedderTest(std::shared_ptr<const SentenceEncoder> encoder = tiny_encoder())
      : encoder_(std::move(encoder)),
        worker_(Embedder::encode_with(encoder_, 64), ServeLimits(), metrics_),
        embedder_(encoder_, worker_, 32) {}

  Matrix<float> embed(const std::vector<TextGroup>& groups, const VectorOptions& options) {
    return embedder_.embed(groups, options, ServeClock::now() + std::chrono::minutes(1), cost_);
  }
  Matrix<float> encode(const std::vector<std::string>& texts, const EncodeOptions& options) const {
    return encoder_->encode(texts, options, silent_events());
  }

  std::shared_ptr<const SentenceEncoder> encoder_;
  Metrics metrics_;
  BatchingWorker worker_;
  Embedder embedder_;
  RequestCost cost_;
};

TEST_F(EmbedderTest, VectorsHaveTheBitsOfTheEncoder) {
  const std::vector<std::string> texts = tiny_texts(40);
  for (const bool normalize : {false, true}) {
    for (const int64_t dimensions : {0, 5}) {
      EXPECT_EQ(embed({group_of(texts)}, {normalize, dimensions}).values,
                encode(texts, encode_options(normalize, dimensions)).values);
    }
  }
  EXPECT_EQ(cost_.texts, 160);
  EXPECT_GT(cost_.tokens, 4 * 40 * 2);
}

// While the first 32 of 64 texts are computed others fill the queue.
TEST(ManyTexts, AreRefusedWhereTheQueueIsFullInTheirMiddle) {
  ServeLimits limits;
  limits.queue_texts = 40;
  limits.batch_tokens = 64;
  const auto later = ServeClock::now() + std::chrono::minutes(1);
  const BatchingWorker::Encode encode = Embedder::encode_with(tiny_encoder(), 64);
  Metrics metrics;
  std::promise<void> gate;
  std::vector<std::future<Matrix<float>>> others;
  std::optional<BatchingWorker> worker;
  const auto ask = [&] {
    WorkTimes times;
    return worker->encode(BatchingWorker::Sequences(20, {2, 5, 6, 3}), later, times);
  };
  int batches = 0;
  const auto encode_and_hold = [&](const BatchingWorker::Sequences& sequences) {
    if (++batches == 1) {
      for (int i = 0; i < 2; ++i) others.push_back(std::async(std::launch::async, ask));
      while (worker->waiting() != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (batches == 2) {
      gate.get_future().wait();
    }
    return encode(sequences);
  };
  worker.emplace(encode_and_hold, limits, metrics, 1);
  const Embedder embedder(tiny_encoder(), *worker, 32);
  RequestCost cost;
  const auto embed = [&] { return embedder.embed({group_of(tiny_texts(64))}, {}, later, cost); };
  EXPECT_THAT(refusal_of(Refusal::kOverloaded, embed), HasSubstr("the queue is full"));
  gate.set_value();
  for (auto& other : others) EXPECT_EQ(other.get().rows, 20);
  EXPECT_EQ(embed().rows, 64);
}

TEST_F(EmbedderTest, RequestsOfManyThreadsDoNotTouchOneAnother) {
  const std::vector<std::string> texts = tiny_texts(24);
  const Matrix<float> expected = encode(texts, encode_options(true));
  std::vector<std::future<int>> wrong;
  for (size_t thread = 0; thread < 6; ++thread) {
    wrong.push_back(std::async(std::launch::async, [&, thread] {
      int count = 0;
      for (size_t i = thread; i < texts.size(); i += 2) {
        RequestCost cost;
        const auto later = ServeClock::now() + std::chrono::minutes(1);
        const Matrix<float> vector = embedder_.embed({group_of({texts[i]})}, {}, later, cost);
        count += !std::equal(vector.values.begin(), vector.values.end(),
                             expected.row(static_cast<int64_t>(i)));
      }
      return count;
    }));
  }
  for (auto& count : wrong) EXPECT_EQ(count.get(), 0);
}

TEST_F(EmbedderTest, TokenIdsGiveWhatTheirTextGives) {
  const std::string text = "the cat sat";
  TextGroup group = group_of({text, ""});
  group.inputs[1].is_ids = true;
  encoder_->tokenizer().encode_ids(text, group.inputs[1].ids);
  const Matrix<float> vectors = embed({group}, {});
  EXPECT_TRUE(std::equal(vectors.row(0), vectors.row(1), vectors.row(1)));
  group.inputs[1].ids = {2, 30, 3};
  EXPECT_THAT(refusal_of(Refusal::kInvalid, [&] { embed({group}, {}); }),
              HasSubstr("token id 30 is outside the model's vocabulary of 30"));
  group.inputs[1].ids = {5, 7};
  EXPECT_THAT(refusal_of(Refusal::kInvalid, [&] { embed({group}, {}); }),
              HasSubstr("do not begin with 2, the model's \"[CLS]\"; ids are those of /tokenize"));
  group.inputs[1].ids.assign(25, 5);
  EXPECT_THAT(refusal_of(Refusal::kInvalid, [&] { embed({group}, {}); }),
              HasSubstr("25 token ids; the model reads 24"));
}

TEST_F(EmbedderTest, LongTextsLoseTheirEndOrTheirBeginningOrAreRefused) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += i < 22 ? "cat " : "dog ";
  std::string end;
  for (int i = 8; i < 30; ++i) end += i < 22 ? "cat " : "dog ";
  TextGroup group = group_of({text});
  EXPECT_EQ(embed({group}, {}).values, encode({text}, encode_options(true)).values);
  group.truncate_left = true;
  EXPECT_EQ(embed({group}, {}).values, encode({end}, encode_options(true)).values);
  group.truncate = false;
  EXPECT_THAT(refusal_of(Refusal::kInvalid, [&] { embed({group}, {}); }),
              HasSubstr("more than the 24 tokens"));
}

TEST_F(EmbedderTest, WhatTheModelDoesNotHaveIsRefused) {
  TextGroup group = group_of({"the cat"});
  EXPECT_THAT(refusal_of(Refusal::kInvalid,
                         [&] {
                           embed({group}, {true, 33});
                         }),
              HasSubstr("the model has 32"));
  group.prompt_name = "query";
  EXPECT_THAT(refusal_of(Refusal::kInvalid, [&] { embed({group}, {}); }),
              HasSubstr("no prompt \"query\""));
}

std::shared_ptr<const SentenceEncoder> encoder_with_prompts(bool pooled) {
  const ModelFolder folder =
      open_model_folder(SIMILE_SOURCE_DIR "/tests/golden/tiny-bert", silent_events());
  ModelSettings settings = folder.settings;
  settings.prompts = {{"query", "is it "}, {"document", "on the "}};
  settings.pooling.include_prompt = pooled;
  return std::make_shared<const SentenceEncoder>(
      open_encoder(folder.weights_path, settings.encoder, silent_events(), ProductType::kFloat),
      settings, Tokenizer::load(folder.tokenizer_path));
}

template <bool kPooled>
class PromptTest : public EmbedderTest {
 protected:
  PromptTest() : EmbedderTest(encoder_with_prompts(kPooled)) {}

  // The query and the documents of a search in one call, each with its prompt.
  void expect_the_encoders_bits() {
    const std::vector<std::string> texts = tiny_texts(5);
    TextGroup query = group_of({"the cat"}), documents = group_of(texts);
    query.role = TextRole::kQuery;
    documents.role = TextRole::kDocument;
    EncodeOptions options = encode_options(true);
    options.role = TextRole::kQuery;
    Matrix<float> expected = encode({"the cat"}, options);
    options.role = TextRole::kDocument;
    const Matrix<float> more = encode(texts, options);
    expected.values.insert(expected.values.end(), more.values.begin(), more.values.end());
    EXPECT_EQ(embed({query, documents}, {}).values, expected.values);
  }
};

using PooledPromptTest = PromptTest<true>;
using LeftOutPromptTest = PromptTest<false>;

TEST_F(PooledPromptTest, PromptsArePutBefore) { expect_the_encoders_bits(); }

TEST_F(LeftOutPromptTest, PromptsThatAreNotPooledAreLeftToTheEncoder) {
  expect_the_encoders_bits();
  TextGroup group = group_of({"the cat"});
  group.prompt_name = "query";
  group.truncate_left = true;
  EXPECT_THAT(refusal_of(Refusal::kInvalid, [&] { embed({group}, {}); }), HasSubstr("not pooled"));
}

}  // namespace
}  // namespace simile
