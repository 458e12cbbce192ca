// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace simile {
namespace {

using testing::ElementsAre;

// Three sequences of 2, 0 and 1 tokens, H = 2.
const std::vector<float> kHidden = {1, -4, 3, -2, 7, 8};
const std::vector<int32_t> kOffsets = {0, 2, 2, 3};

std::vector<float> pooled(PoolingMode mode) {
  std::vector<float> out(6, 99.0f);
  pool(mode, kHidden.data(), kOffsets, 2, out.data());
  return out;
}

TEST(Pooling, EachModeFollowsItsFormula) {
  EXPECT_THAT(pooled(PoolingMode::kCls), ElementsAre(1, -4, 0, 0, 7, 8));
  EXPECT_THAT(pooled(PoolingMode::kMean), ElementsAre(2, -3, 0, 0, 7, 8));
  EXPECT_THAT(pooled(PoolingMode::kMax), ElementsAre(3, -2, 0, 0, 7, 8));
}

TEST(Pooling, NormalisedRowsHaveLengthOneAndZerosStay) {
  std::vector<float> rows = {3, 4, 0, 0, 1e-20f, 0};
  normalise_rows(rows.data(), 3, 2);
  EXPECT_FLOAT_EQ(rows[0], 0.6f);
  EXPECT_FLOAT_EQ(rows[1], 0.8f);
  EXPECT_EQ(rows[2], 0.0f);
  EXPECT_FLOAT_EQ(rows[4], 1.0f);
}

}  // namespace
}  // namespace simile
