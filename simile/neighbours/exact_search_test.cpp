// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/exact_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "simile/core/error.h"
#include "simile/core/half.h"
#include "simile/core/matrix.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/neighbours/detail/scan.h"

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

using testing::ElementsAre;

Matrix<float> random_matrix(int64_t rows, int64_t cols, const char* name) {
  Matrix<float> matrix(rows, cols);
  RandomStream stream(1, name);
  for (float& value : matrix.values) value = static_cast<float>(stream.normal());
  return matrix;
}

constexpr VectorMetric kMetrics[] = {VectorMetric::kInnerProduct, VectorMetric::kSquaredDistance,
                                     VectorMetric::kAbsoluteDistance};

std::vector<std::vector<Hit>> search(const Matrix<float>& rows, const Matrix<float>& queries,
                                     int64_t k, VectorMetric metric) {
  return exact_search(rows.values.data(), rows.rows, queries.values.data(), queries.rows, rows.cols,
                      k, metric);
}

double plain_score(const float* q, const float* x, int64_t D, VectorMetric metric) {
  double sum = 0;
  for (int64_t d = 0; d < D; ++d) {
    const double difference = static_cast<double>(q[d]) - x[d];
    sum += metric == VectorMetric::kInnerProduct      ? static_cast<double>(q[d]) * x[d]
           : metric == VectorMetric::kSquaredDistance ? -difference * difference
                                                      : -std::abs(difference);
  }
  return sum;
}

std::vector<int64_t> ids(const std::vector<Hit>& hits) {
  std::vector<int64_t> result;
  for (const Hit& hit : hits) result.push_back(hit.id);
  return result;
}

TEST(ExactSearch, ScoresAndOrderAreThoseOfAPlainLoop) {
  for (const int64_t D : {1, 15, 16, 17, 48, 100}) {
    const Matrix<float> rows = random_matrix(300, D, "rows"),
                        queries = random_matrix(7, D, "queries");
    for (const VectorMetric metric : kMetrics) {
      const auto results = search(rows, queries, 20, metric);
      for (int64_t i = 0; i < queries.rows; ++i) {
        std::vector<double> scores;
        for (int64_t j = 0; j < rows.rows; ++j) {
          scores.push_back(plain_score(queries.row(i), rows.row(j), D, metric));
        }
        const std::vector<Hit>& hits = results[static_cast<size_t>(i)];
        ASSERT_EQ(hits.size(), 20u);
        for (const Hit& hit : hits) {
          EXPECT_NEAR(hit.score, scores[static_cast<size_t>(hit.id)], 1e-3);
        }
        std::sort(scores.rbegin(), scores.rend());
        for (size_t k = 0; k < hits.size(); ++k) EXPECT_NEAR(hits[k].score, scores[k], 1e-3);
      }
    }
  }
}

TEST(ExactSearch, ShortVectorsScoreAsTheFloatsTheyStandFor) {
  for (const int64_t D : {1, 15, 16, 17, 31, 32, 33, 48, 100}) {
    Matrix<float> vectors = random_matrix(2, D, "short");
    std::vector<uint16_t> halves;
    for (float& value : vectors.values) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      halves.push_back(static_cast<uint16_t>(bits >> 16));
      bits &= 0xffff0000;
      std::memcpy(&value, &bits, sizeof bits);
    }
    for (const VectorMetric metric : kMetrics) {
      EXPECT_NEAR(detail::scan_kernels().halves(halves.data(), halves.data() + D, D, metric),
                  plain_score(vectors.row(0), vectors.row(1), D, metric), 1e-4)
          << D;
    }
  }
}

TEST(ExactSearch, OneQueryOrManyOneThreadOrTwoGiveTheSameBits) {
  const Matrix<float> rows = random_matrix(20000, 24, "rows"),
                      queries = random_matrix(300, 24, "q");
  set_thread_count(1);
  const auto expected = search(rows, queries, 5, VectorMetric::kInnerProduct);
  set_thread_count(2);
  const auto parallel = search(rows, queries, 5, VectorMetric::kInnerProduct);
  for (int64_t i = 0; i < queries.rows; i += 7) {
    const auto alone = exact_search(rows.values.data(), rows.rows, queries.row(i), 1, 24, 5,
                                    VectorMetric::kInnerProduct);
    for (size_t k = 0; k < 5; ++k) {
      const Hit &a = expected[static_cast<size_t>(i)][k], &b = parallel[static_cast<size_t>(i)][k];
      EXPECT_TRUE(a.id == b.id && a.score == b.score);
      EXPECT_TRUE(a.id == alone[0][k].id && a.score == alone[0][k].score);
    }
  }
}

TEST(ExactSearch, TiesComeByLowerRow) {
  const Matrix<float> rows(5000, 3, 1.0f), query(1, 3, 2.0f);
  EXPECT_THAT(ids(search(rows, query, 4, VectorMetric::kInnerProduct)[0]), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ids(search(rows, query, 2, VectorMetric::kSquaredDistance)[0]), ElementsAre(0, 1));
}

TEST(ExactSearch, AllScoresAreThoseOfTheHitsForAnyNumberOfThreads) {
  const int64_t D = 24, row_count = 9000;
  const Matrix<float> vectors = random_matrix(5000, D, "rows"), queries = random_matrix(40, D, "q");
  std::vector<int64_t> places;
  for (int64_t i = 0; i < row_count; ++i) places.push_back(i * 7 % 5000);
  const int threads = thread_count();
  for (const VectorMetric metric : kMetrics) {
    std::vector<std::vector<double>> scores(2, std::vector<double>(40 * row_count));
    for (const int count : {1, 2}) {
      set_thread_count(count);
      exact_scores(vectors.values.data(), row_count, queries.values.data(), 40, D, metric,
                   scores[static_cast<size_t>(count - 1)].data(), places.data());
    }
    EXPECT_EQ(scores[0], scores[1]);
    const auto hits = exact_search(vectors.values.data(), row_count, queries.values.data(), 40, D,
                                   row_count, metric, places.data());
    for (size_t i = 0; i < 40; ++i) {
      ASSERT_EQ(hits[i].size(), static_cast<size_t>(row_count));
      for (const Hit& hit : hits[i]) {
        ASSERT_EQ(scores[0][i * row_count + static_cast<size_t>(hit.id)], hit.score);
      }
    }
  }
  set_thread_count(threads);
}

TEST(ExactSearch, OddRequestsHaveDefinedAnswers) {
  Matrix<float> rows(3, 2, 1.0f);
  const Matrix<float> query(1, 2, 1.0f);
  EXPECT_EQ(search(rows, query, 10, VectorMetric::kInnerProduct)[0].size(), 3u);
  EXPECT_TRUE(search(rows, query, 0, VectorMetric::kInnerProduct)[0].empty());
  EXPECT_TRUE(search(Matrix<float>(0, 2), query, 3, VectorMetric::kInnerProduct)[0].empty());
  EXPECT_TRUE(search(rows, Matrix<float>(0, 2), 3, VectorMetric::kInnerProduct).empty());
  rows.at(1, 0) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(ids(search(rows, query, 3, VectorMetric::kInnerProduct)[0]), ElementsAre(0, 2));
}

TEST(ExactSearch, RowsByTheirPlacesHaveTheBitsOfRowsOneBehindTheOther) {
  const int64_t D = 19;
  const Matrix<float> vectors = random_matrix(1000, D, "rows"), queries = random_matrix(6, D, "q");
  std::vector<int64_t> places;
  for (int64_t i = 0; i < 700; ++i) places.push_back(i * 7 % 501);  // some twice
  Matrix<float> rows(700, D);
  for (int64_t i = 0; i < 700; ++i) {
    std::copy_n(vectors.row(places[static_cast<size_t>(i)]), D, rows.row(i));
  }
  for (const VectorMetric metric : kMetrics) {
    const auto expected = search(rows, queries, 700, metric);
    const auto found = exact_search(vectors.values.data(), 700, queries.values.data(), 6, D, 700,
                                    metric, places.data());
    for (size_t q = 0; q < 6; ++q) {
      EXPECT_EQ(ids(found[q]), ids(expected[q]));
      for (size_t k = 0; k < 700; ++k) EXPECT_EQ(found[q][k].score, expected[q][k].score);
    }
  }
}

}  // namespace
}  // namespace simile
