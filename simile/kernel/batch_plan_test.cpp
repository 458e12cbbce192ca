// SPDX-License-Identifier: Apache-2.0

#include "simile/kernel/detail/batch_plan.h"

#include <gtest/gtest.h>

#include <cmath>

namespace simile {
namespace {

// Where the buckets of a model with 32 begin, as MPNet's own code gives them.
TEST(PositionTables, BucketsBeginWhereTheModelsHaveThem) {
  struct Case {
    int64_t distance, bucket;
  };
  for (const Case& c :
       {Case{0, 0}, {-1, 1},   {-7, 7},    {-8, 8},   {-11, 8},  {-12, 9},  {-15, 9},  {-16, 10},
        {-22, 10},  {-23, 11}, {-31, 11},  {-32, 12}, {-45, 12}, {-46, 13}, {-63, 13}, {-64, 14},
        {-90, 14},  {-91, 15}, {-600, 15}, {1, 17},   {7, 23},   {8, 24},   {11, 24},  {12, 25},
        {16, 26},   {23, 27},  {32, 28},   {46, 29},  {64, 30},  {90, 30},  {91, 31},  {600, 31}}) {
    EXPECT_EQ(relative_bucket(c.distance, 32), c.bucket) << c.distance;
  }
}

TEST(PositionTables, NoMoreThan32BucketsAreUsed) {
  EncoderShape shape;
  for (const auto& [rows, used] :
       std::vector<std::pair<int64_t, int64_t>>{{8, 8}, {32, 32}, {64, 32}}) {
    shape.relative_buckets = rows;
    EXPECT_EQ(bucket_count(shape), used);
  }
}

TEST(PositionRows, PaddingTakesItsOwnRowAndIsNotCounted) {
  const auto rows_of = [](int64_t offset, const std::vector<int32_t>& ids) {
    PositionRows row(offset);
    std::vector<int64_t> rows;
    for (const int32_t id : ids) rows.push_back(row(id));
    return rows;
  };
  // As transformers numbers <s> a <pad> <pad> b </s>, <pad> being token 1.
  EXPECT_EQ(rows_of(2, {0, 7, 1, 1, 8, 2}), (std::vector<int64_t>{2, 3, 1, 1, 4, 5}));
  EXPECT_EQ(rows_of(0, {5, 0, 1, 6}), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(PositionTables, ShiftsAreThoseOfTheBucketsAndTheirGradientsGoBack) {
  EncoderShape shape;
  shape.heads = 2;
  shape.hidden = 8;
  shape.relative_buckets = 4;
  const std::vector<float> relative = {1, 10, 2, 20, 3, 30, 4, 40};  // [4, 2]
  EncoderWeights weights{};
  weights.relative = relative.data();
  PositionTables tables;
  tables.build(shape, weights, 3);
  EXPECT_EQ(tables.cosines(false), nullptr);
  const float expected[] = {2, 2, 1, 4, 4};
  std::vector<float> gradient(static_cast<size_t>(tables.shift_floats()));
  for (int64_t distance = -2; distance <= 2; ++distance) {
    for (int64_t head = 0; head < 2; ++head) {
      const int64_t at = head * tables.ld_shift() + distance;
      const float factor = head == 0 ? 1.0f : 10.0f;
      EXPECT_EQ(tables.shift()[at], expected[distance + 2] * factor) << distance;
      gradient[static_cast<size_t>(tables.shift_origin() + at)] = factor;
    }
  }
  std::vector<float> sums(8, 0.5f);
  tables.add_shift_gradient(shape, gradient.data(), sums.data());
  EXPECT_EQ(sums, (std::vector<float>{1.5f, 10.5f, 2.5f, 20.5f, 0.5f, 0.5f, 2.5f, 20.5f}));
}

TEST(PositionTables, AnglesFallWithThePairAndGrowWithThePosition) {
  EncoderShape shape;
  shape.heads = 1;
  shape.hidden = 4;
  shape.rotary_base = 100;
  shape.local_rotary_base = 10000;
  shape.local_window = 1;
  PositionTables tables;
  tables.build(shape, {}, 3);
  for (int64_t p = 0; p < 3; ++p) {
    const double at = static_cast<double>(p);
    EXPECT_NEAR(tables.cosines(false)[2 * p], std::cos(at), 1e-7);
    EXPECT_NEAR(tables.sines(false)[2 * p + 1], std::sin(at / 10), 1e-7);
    EXPECT_NEAR(tables.sines(true)[2 * p + 1], std::sin(at / 100), 1e-7);
  }
  EXPECT_EQ(tables.shift(), nullptr);
}

}  // namespace
}  // namespace simile
