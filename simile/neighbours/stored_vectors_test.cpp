// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/stored_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/random.h"
#include "simile/neighbours/exact_search.h"

namespace simile {
namespace {

using testing::ElementsAre;

std::vector<char> store(const std::vector<float>& vectors, int64_t D, StoredNumber number) {
  const int64_t count = static_cast<int64_t>(vectors.size()) / D;
  std::vector<char> rows(static_cast<size_t>(count * stored_bytes(number, D)));
  store_rows(vectors.data(), count, D, number, rows.data());
  return rows;
}

std::vector<float> read(const std::vector<char>& rows, int64_t D, StoredNumber number) {
  const int64_t count = static_cast<int64_t>(rows.size()) / stored_bytes(number, D);
  std::vector<float> vectors(static_cast<size_t>(count * D));
  for (int64_t i = 0; i < count; ++i) {
    StoredRows(rows.data(), count, D, number).read(i, vectors.data() + i * D);
  }
  return vectors;
}

std::vector<float> random_numbers(int64_t count) {
  RandomStream random(1, "stored vectors");
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(random.normal()));
  return numbers;
}

TEST(StoredVectors, BytesAreTheNearestMultiplesOfTheScale) {
  // 127 s = 127, so s = 1: halves of it go to the even number.
  const std::vector<float> vector = {127, -127, 0.5f, 1.5f, -2.5f, 0.49f, 3};
  const std::vector<char> row = store(vector, 7, StoredNumber::kInt8);
  float scale;
  std::memcpy(&scale, row.data(), sizeof scale);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(std::vector<char>(row.begin() + 4, row.end()),
            (std::vector<char>{127, -127, 0, 2, -2, 0, 3}));
  EXPECT_THAT(read(row, 7, StoredNumber::kInt8), ElementsAre(127, -127, 0, 2, -2, 0, 3));
  EXPECT_THAT(read(store({0, 0}, 2, StoredNumber::kInt8), 2, StoredNumber::kInt8),
              ElementsAre(0, 0));
}

TEST(StoredVectors, HalvesAreTheNearestOnes) {
  // Between 2048 and 4096 halves are apart by 2, below 2^-14 by 2^-24.
  const std::vector<float> vector = {2049, 2051, 65504, 1.0f, -std::ldexp(3.0f, -25)};
  const std::vector<float> found =
      read(store(vector, 5, StoredNumber::kFp16), 5, StoredNumber::kFp16);
  EXPECT_THAT(found, ElementsAre(2048, 2052, 65504, 1.0f, -std::ldexp(1.0f, -23)));
}

TEST(StoredVectors, StoringWhatARowStandsForGivesItsBytes) {
  const int64_t D = 37;
  for (const StoredNumber number :
       {StoredNumber::kFp32, StoredNumber::kFp16, StoredNumber::kInt8}) {
    const std::vector<char> rows = store(random_numbers(1000 * D), D, number);
    EXPECT_EQ(store(read(rows, D, number), D, number), rows);
  }
}

TEST(StoredVectors, BytesAreAtMostHalfAScaleAway) {
  const int64_t D = 16;
  const std::vector<float> vectors = random_numbers(500 * D);
  const std::vector<char> rows = store(vectors, D, StoredNumber::kInt8);
  const std::vector<float> found = read(rows, D, StoredNumber::kInt8);
  for (size_t i = 0; i < vectors.size(); ++i) {
    float scale;
    std::memcpy(&scale, rows.data() + i / D * (4 + D), sizeof scale);
    ASSERT_LE(std::abs(vectors[i] - found[i]), 0.5001f * scale);
  }
}

// Also of a query alone, at every place in memory, and of a last part of fewer than 16 numbers.
TEST(StoredVectors, ScoresAreTheBitsOfThoseOfWhatRowsStandFor) {
  for (const int64_t D : {1, 5, 16, 31, 64, 100}) {
    const int64_t count = 700;
    const std::vector<float> vectors = random_numbers(count * D), queries = random_numbers(7 * D);
    std::vector<int64_t> places;
    for (int64_t i = 0; i < count; ++i) places.push_back(i * 3 % 500);
    for (const StoredNumber number : {StoredNumber::kFp16, StoredNumber::kInt8}) {
      const std::vector<char> rows = store(vectors, D, number);
      const std::vector<float> floats = read(rows, D, number);
      const StoredRows stored(rows.data(), count, D, number);
      for (const VectorMetric metric : {VectorMetric::kInnerProduct, VectorMetric::kSquaredDistance,
                                        VectorMetric::kAbsoluteDistance}) {
        std::vector<double> expected(static_cast<size_t>(7 * count)), found(expected);
        exact_scores(floats.data(), count, queries.data(), 7, D, metric, expected.data(),
                     places.data());
        exact_scores(stored, count, queries.data(), 7, metric, found.data(), places.data());
        EXPECT_EQ(found, expected) << D << " " << number_name(number);
        const auto hits = exact_search(stored, count, queries.data(), 1, 20, metric);
        const auto of_floats = exact_search(floats.data(), count, queries.data(), 1, D, 20, metric);
        for (size_t k = 0; k < 20; ++k) {
          EXPECT_EQ(hits[0][k].id, of_floats[0][k].id);
          EXPECT_EQ(hits[0][k].score, of_floats[0][k].score);
        }
      }
    }
  }
}

TEST(StoredVectors, EveryHalfIsReadAsItIs) {
  std::vector<char> rows;
  std::vector<float> expected;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;  // infinite, or none
    rows.push_back(static_cast<char>(bits & 0xff));
    rows.push_back(static_cast<char>(bits >> 8));
    expected.push_back(half_to_float(static_cast<uint16_t>(bits)));
  }
  const auto count = static_cast<int64_t>(expected.size());
  const float one = 1;
  std::vector<double> scores(expected.size());
  exact_scores(StoredRows(rows.data(), count, 1, StoredNumber::kFp16), count, &one, 1,
               VectorMetric::kInnerProduct, scores.data());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(scores[i], expected[i]);
}

TEST(StoredVectors, NamesAreKnown) {
  for (const std::string& name : stored_number_names()) {
    EXPECT_EQ(number_name(parse_stored_number(name)), name);
  }
  EXPECT_THROW(parse_stored_number("int4"), Error);
}

}  // namespace
}  // namespace simile
