// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "simile/core/random.h"

namespace simile {
namespace {

using testing::Each;
using testing::ElementsAre;

struct Quantised {
  std::vector<int8_t> numbers;
  std::vector<float> scales;
  std::vector<float> back;
};

Quantised quantise(const std::vector<float>& values, int64_t rows) {
  const int64_t columns = static_cast<int64_t>(values.size()) / rows;
  Quantised q;
  q.numbers.resize(values.size());
  q.scales.resize(static_cast<size_t>(rows));
  EXPECT_TRUE(quantise_rows(values.data(), rows, columns, q.numbers.data(), q.scales.data()));
  for (size_t i = 0; i < values.size(); ++i) {
    q.back.push_back(q.numbers[i] * q.scales[i / static_cast<size_t>(columns)]);
  }
  return q;
}

TEST(Quantise, KnownValues) {
  const Quantised q = quantise({127, -127, 63.4f, 0, 0, 0, 0.5f, -0.25f, 0}, 3);
  EXPECT_THAT(q.numbers, ElementsAre(127, -127, 63, 0, 0, 0, 127, -63, 0));
  EXPECT_EQ(q.scales[0], 1.0f);
  EXPECT_EQ(q.scales[1], 0.0f);
  EXPECT_NEAR(q.scales[2], 0.5 / 127, 1e-7);
}

TEST(Quantise, NoNumberIsFurtherThanHalfAScaleAndQuantisingAgainChangesNothing) {
  RandomStream stream(3, "quantise");
  for (int round = 0; round < 200; ++round) {
    std::vector<float> values(64);
    const double size = std::pow(10.0, static_cast<double>(stream.below(40)) - 25);
    for (float& value : values) value = static_cast<float>(stream.normal() * size);
    const Quantised once = quantise(values, 4), twice = quantise(once.back, 4);
    EXPECT_EQ(once.numbers, twice.numbers);
    EXPECT_EQ(once.scales, twice.scales);
    EXPECT_EQ(once.back, twice.back);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_LE(std::abs(values[i] - once.back[i]), once.scales[i / 16] * 0.50001f);
    }
  }
}

TEST(Quantise, TinyNumbersAreZeroAndNumbersThatAreNotFiniteAreRefused) {
  EXPECT_THAT(quantise({1e-38f, -1e-35f}, 1).numbers, Each(0));
  EXPECT_THAT(quantise({3e38f, -3e38f}, 1).numbers, ElementsAre(127, -127));
  int8_t number;
  float scale;
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(quantise_rows(&bad, 1, 1, &number, &scale));
  }
}

}  // namespace
}  // namespace simile
