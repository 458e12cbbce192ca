// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/masked_lm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/detail/encoder_fixture_test.h"

namespace simile {
namespace {

using Json = nlohmann::json;

std::vector<float> sines(int64_t count, double phase, double scale) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(scale * std::sin(0.37 * static_cast<double>(i) + phase)));
  }
  return values;
}

struct Result {
  VocabularyLoss loss;
  std::vector<float> hidden, head, embedding;  // gradients
};

// The inputs of tools/golden/masked_lm.py.
Result compute(int64_t hidden_size, int64_t vocabulary, int64_t tokens, const MaskedTokens& masked,
               ProductType products = ProductType::kFloat) {
  EncoderShape shape;
  shape.hidden = hidden_size;
  shape.vocabulary = vocabulary;
  const int64_t H = hidden_size;
  std::vector<float> head;
  const auto append = [&](const std::vector<float>& part) {
    head.insert(head.end(), part.begin(), part.end());
  };
  append(sines(H * H, 0.2, 0.5));
  append(sines(H, 0.3, 0.1));
  append(sines(H, 0.4, 1.0));
  append(sines(H, 0.5, 0.2));
  append(sines(vocabulary, 0.6, 0.3));
  const std::vector<float> hidden = sines(tokens * H, 0.1, 1.0);
  const std::vector<float> embedding = sines(vocabulary * H, 0.7, 0.8);
  Result result;
  result.hidden.assign(hidden.size(), 9.0f);  // is overwritten
  result.head.assign(head.size(), 0.0f);
  result.embedding.assign(embedding.size(), 0.0f);
  const MaskedLmGradients gradients{1.0f / static_cast<float>(masked.size()), result.hidden.data(),
                                    result.head.data(), result.embedding.data()};
  MaskedLm masked_lm(shape, products);
  result.loss = masked_lm(head.data(), embedding.data(), hidden.data(), tokens, masked, &gradients);
  const VocabularyLoss alone =
      masked_lm(head.data(), embedding.data(), hidden.data(), tokens, masked, nullptr);
  EXPECT_EQ(alone.sum, result.loss.sum);
  EXPECT_EQ(alone.correct, result.loss.correct);
  return result;
}

void expect_near(const Json& expected, const float* actual, const char* what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i].get<double>(), 2e-6) << what << ' ' << i;
  }
}

double norm(const float* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return std::sqrt(sum);
}

TEST(MaskedLm, ValuesAndGradientsAreThoseOfTheReference) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/masked_lm.json");
  const Json golden = Json::parse(file);
  const auto H = golden["hidden"].get<int64_t>();
  ASSERT_EQ(golden["cases"].size(), 3u);
  for (const Json& c : golden["cases"]) {
    const auto vocabulary = c["vocabulary"].get<int64_t>();
    SCOPED_TRACE(vocabulary);
    const MaskedTokens masked{c["positions"], c["words"]};
    const Result result = compute(H, vocabulary, c["tokens"], masked);
    EXPECT_NEAR(result.loss.sum, c["sum"].get<double>(), 1e-5 * c["sum"].get<double>());
    EXPECT_EQ(result.loss.correct, c["correct"].get<int64_t>());
    expect_near(c["hidden_gradient"], result.hidden.data(), "hidden");
    expect_near(c["head_gradient"], result.head.data(), "head");
    const float* decoder = result.head.data() + H * H + 3 * H;
    EXPECT_NEAR(norm(decoder, vocabulary), c["decoder_gradient_norm"].get<double>(), 2e-6);
    EXPECT_NEAR(norm(result.embedding.data(), vocabulary * H),
                c["embedding_gradient_norm"].get<double>(), 1e-5);
    for (size_t i = 0; i < c["embedding_rows"].size(); ++i) {
      expect_near(c["embedding_gradient"][i],
                  result.embedding.data() + c["embedding_rows"][i].get<int64_t>() * H, "embedding");
    }
  }
}

TEST(MaskedLm, BitsDoNotDependOnTheNumberOfThreads) {
  MaskedTokens masked;
  for (int32_t i = 0; i < 50; ++i) {
    masked.positions.push_back(i);
    masked.words.push_back(i * 37);
  }
  const int threads = thread_count();
  for (const ProductType products : {ProductType::kFloat, ProductType::kBfloat}) {
    if (products == ProductType::kBfloat && bfloat_kernels() == nullptr) continue;
    set_thread_count(1);
    const Result one = compute(32, 3000, 50, masked, products);
    set_thread_count(3);
    const Result three = compute(32, 3000, 50, masked, products);
    EXPECT_EQ(one.loss.sum, three.loss.sum);
    EXPECT_EQ(one.hidden, three.hidden);
    EXPECT_EQ(one.head, three.head);
    EXPECT_EQ(one.embedding, three.embedding);
  }
  set_thread_count(threads);
}

void expect_close(const std::vector<float>& found, const std::vector<float>& expected) {
  std::vector<float> difference = found;
  for (size_t i = 0; i < found.size(); ++i) difference[i] -= expected[i];
  const auto size = static_cast<int64_t>(found.size());
  EXPECT_LT(norm(difference.data(), size), 1e-2 * norm(expected.data(), size));
  EXPECT_NE(found, expected);
}

TEST(MaskedLm, ProductsInBfloat16GiveNearlyTheSameGradients) {
  if (bfloat_kernels() == nullptr) GTEST_SKIP() << "skipped: no bfloat16 on this processor";
  MaskedTokens masked;
  for (int32_t i = 0; i < 45; ++i) {
    masked.positions.push_back(i + 3);
    masked.words.push_back(i * 17);
  }
  for (const auto& [H, vocabulary] : {std::pair<int64_t, int64_t>(64, 1000), {33, 777}}) {
    const Result exact = compute(H, vocabulary, 50, masked);
    const Result rounded = compute(H, vocabulary, 50, masked, ProductType::kBfloat);
    EXPECT_NEAR(rounded.loss.sum, exact.loss.sum, 1e-2 * exact.loss.sum);
    expect_close(rounded.hidden, exact.hidden);
    expect_close(rounded.head, exact.head);
    expect_close(rounded.embedding, exact.embedding);
  }
}

TEST(MaskedLm, WithoutMaskedTokensAllGradientsAreZero) {
  const Result result = compute(16, 100, 4, {});
  EXPECT_EQ(result.loss.sum, 0.0);
  EXPECT_EQ(result.hidden, std::vector<float>(64, 0.0f));
  EXPECT_EQ(norm(result.embedding.data(), 1600), 0.0);
}

TEST(MaskedLm, AWordOutsideTheVocabularyIsRefused) {
  EXPECT_THROW(compute(16, 100, 4, {{0}, {100}}), Error);
}

TEST(MaskedLm, TheGuessOfAVeryLikelyWordCostsNextToNothing) {
  // Logits up to 4e4 apart: the sums must stay finite.
  const float states[2] = {200.0f, -200.0f};
  const float embedding[4] = {200.0f, -200.0f, 0.0f, 1.0f};
  const float bias[4] = {};
  const int32_t targets[2] = {0, 0};
  FloatBuffer memory;
  float state_gradients[2], embedding_gradients[4] = {}, bias_gradients[4] = {};
  const VocabularyLoss loss =
      vocabulary_loss({2, 1, 4, states, targets, embedding, bias, 1.0f, state_gradients,
                       embedding_gradients, bias_gradients},
                      memory);
  EXPECT_NEAR(loss.sum, 80000.0, 1e-2);
  EXPECT_EQ(loss.correct, 1);
  EXPECT_NEAR(state_gradients[0], 0.0f, 1e-30f);
  EXPECT_EQ(state_gradients[1], -400.0f);
}

TEST(MaskedLm, NeedsEmbeddingsAsWideAsTheHiddenStates) {
  EncoderShape shape = small_shape(1, 32, 2, 48);
  shape.embedding = 16;
  shape.projected = true;
  EXPECT_THROW(MaskedLm{shape}, Error);
  EXPECT_THROW(masked_lm_layout(shape), Error);
}

}  // namespace
}  // namespace simile
