// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {
namespace {

EncoderShape weighted_shape(float saturation, float half_position) {
  EncoderShape shape;
  shape.averaged = true;
  shape.vocabulary = 10;
  shape.hidden = 1;
  shape.positions = 1000;
  shape.saturation = saturation;
  shape.half_position = half_position;
  return shape;
}

std::vector<float> shares(float saturation, float half_position, std::vector<int32_t> ids) {
  std::vector<float> found(ids.size());
  TokenWeights(weighted_shape(saturation, half_position))(
      ids.data(), static_cast<int64_t>(ids.size()), found.data());
  return found;
}

struct WeightCase {
  float saturation, half_position;
  std::vector<int32_t> ids;
  std::vector<float> weights;  // before they are divided by their sum
};

TEST(TokenWeights, AreThoseOfTheFormula) {
  const float root = std::sqrt(2.0f), third = std::sqrt(3.0f);
  const std::vector<WeightCase> cases = {
      {1, 0, {4, 4, 7}, {1, 1, 1}},
      {0.5f, 0, {4, 7, 4, 4}, {1, 1, root - 1, third - root}},
      {0, 0, {4, 4, 7, 4}, {1, 0, 1, 0}},
      {1, 2, {1, 1, 1, 1, 1}, {1, 2.0f / 3, 0.5f, 0.4f, 1.0f / 3}},
      {0.5f, 1, {9, 9}, {1, (root - 1) / 2}},
      {0.5f, 1, {3}, {1}},
      {0.5f, 1, {}, {}},
  };
  for (const WeightCase& c : cases) {
    const std::vector<float> found = shares(c.saturation, c.half_position, c.ids);
    float sum = 0;
    for (const float weight : c.weights) sum += weight;
    for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], c.weights[k] / sum, 1e-6);
  }
}

// Beyond those that are kept in a table, too.
TEST(TokenWeights, ATokenThatComesOftenCountsItsSaturatedTimes) {
  std::vector<int32_t> ids(400, 2);
  ids.push_back(5);
  const std::vector<float> found = shares(0.5f, 0, ids);
  double sum = 0;
  for (size_t k = 0; k + 1 < ids.size(); ++k) sum += found[k];
  EXPECT_NEAR(sum / found.back(), 20, 1e-3);
}

TEST(TokenWeights, OneTextLeavesNothingBehindForTheNext) {
  PackedBatch batch;
  batch.ids = {4, 4, 4, 4};
  batch.offsets = {0, 2, 2, 4};
  const std::vector<float> found = TokenWeights(weighted_shape(0.5f, 0)).of_batch(batch);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(found[1], found[3]);
}

TEST(TokenWeights, IdsOutsideTheVocabularyAreErrors) {
  PackedBatch batch;
  batch.ids = {4, 10};
  batch.offsets = {0, 2};
  EXPECT_THROW(TokenWeights(weighted_shape(0.5f, 0)).of_batch(batch), Error);
}

}  // namespace
}  // namespace simile
