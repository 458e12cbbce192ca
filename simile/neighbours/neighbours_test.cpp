// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/neighbours/detail/neighbours.h"
#include "simile/neighbours/detail/planted_vectors_test.h"
#include "simile/neighbours/exact_search.h"

namespace simile {
namespace {

using detail::nearest_neighbours_below;
using detail::planted_vectors;
using testing::ElementsAre;
using testing::HasSubstr;

// The same by exact search, which compares by differences.
Matrix<int32_t> searched_neighbours(const Matrix<float>& vectors, int64_t top_n) {
  const auto hits =
      exact_search(vectors.values.data(), vectors.rows, vectors.values.data(), vectors.rows,
                   vectors.cols, vectors.rows, VectorMetric::kSquaredDistance);
  Matrix<int32_t> neighbours(vectors.rows, top_n);
  for (int64_t i = 0; i < vectors.rows; ++i) {
    int64_t column = 0;
    for (const Hit& hit : hits[static_cast<size_t>(i)]) {
      if (hit.id != i && column < top_n) {
        neighbours.at(i, column++) = static_cast<int32_t>(hit.id);
      }
    }
  }
  return neighbours;
}

TEST(Neighbours, AreTheNearestOtherRows) {
  Matrix<float> points(5, 1);
  points.values = {0.0f, 10.0f, 1.0f, 11.5f, -2.0f};
  const Matrix<int32_t> neighbours = nearest_neighbours(points, 2);
  EXPECT_THAT(neighbours.values, ElementsAre(2, 4, 3, 2, 0, 4, 1, 2, 0, 2));
}

TEST(Neighbours, EqualRowsComeByNumberAndNeverIncludeTheRowItself) {
  const Matrix<int32_t> neighbours = nearest_neighbours(Matrix<float>(4, 3, 0.5f), 10);
  EXPECT_EQ(neighbours.cols, 3);
  EXPECT_THAT(neighbours.values, ElementsAre(1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2));
  EXPECT_EQ(nearest_neighbours(Matrix<float>(1, 3), 10).cols, 0);
  EXPECT_EQ(nearest_neighbours(Matrix<float>(0, 3), 10).rows, 0);
}

TEST(Neighbours, AreThoseOfExactSearchWhateverTheShapeAndSize) {
  for (const int64_t D : {1, 15, 33, 200}) {
    for (const double noise : {0.0, 1e-5, 0.5}) {  // equal rows, rows that rounding confuses
      const Matrix<float> points = planted_vectors(400, D, 40, noise);
      EXPECT_EQ(nearest_neighbours(points, 20).values, searched_neighbours(points, 20).values)
          << D << " " << noise;
    }
  }
}

TEST(Neighbours, ScaleAndOffsetLeaveThemExact) {
  for (const float scale : {1e-30f, 1e-20f, 1e-3f, 1e3f, 1e14f}) {
    for (const float offset : {0.0f, 100.0f}) {
      Matrix<float> points = planted_vectors(300, 24, 30, 0.3);
      for (float& value : points.values) {
        value = (0.01f * value + offset) * (offset == 0 ? scale : 0.01f * scale);
      }
      EXPECT_EQ(nearest_neighbours(points, 10).values, searched_neighbours(points, 10).values)
          << scale << " " << offset;
    }
  }
}

TEST(Neighbours, OfChosenRowsAreThoseOfAll) {
  const std::vector<int32_t> rows = {299, 0, 17, 18, 0, 150};
  for (const double noise : {0.0, 0.5}) {
    const Matrix<float> points = planted_vectors(300, 24, 30, noise);
    const Matrix<int32_t> all = nearest_neighbours(points, 10);
    const NeighbourSearch search(points, 10);
    const Matrix<int32_t> found = search.find(rows);
    ASSERT_EQ(found.cols, 10);
    for (size_t i = 0; i < rows.size(); ++i) {
      const int32_t* row = found.row(static_cast<int64_t>(i));
      EXPECT_TRUE(std::equal(row, row + 10, all.row(rows[i]))) << rows[i];
    }
    EXPECT_EQ(search.report().method, "exact");
    EXPECT_EQ(search.find({}).rows, 0);
  }
  EXPECT_EQ(NeighbourSearch(Matrix<float>(1, 3), 10).find({0}).cols, 0);
}

TEST(Neighbours, ManyRowsInQuestionAreAllCompared) {
  // More equal rows than a search keeps candidates.
  Matrix<float> points = planted_vectors(1500, 8, 1500, 0.0);
  for (int64_t i = 0; i < 1300; ++i) std::copy_n(points.row(1499), 8, points.row(i));
  EXPECT_EQ(nearest_neighbours(points, 3).values, searched_neighbours(points, 3).values);
}

TEST(Neighbours, ThreadsChangeNothing) {
  const Matrix<float> points = planted_vectors(2000, 20, 100, 1.0);
  for (const int64_t exact_below : {int64_t{3000}, int64_t{2000}}) {
    set_thread_count(1);
    const Matrix<int32_t> one = nearest_neighbours_below(points, 50, exact_below, nullptr);
    set_thread_count(2);
    EXPECT_EQ(nearest_neighbours_below(points, 50, exact_below, nullptr).values, one.values);
  }
}

TEST(Neighbours, AboveTheLimitMostAreFoundAndTheReportSaysSo) {
  const Matrix<float> points = planted_vectors(5000, 24, 200, 0.5);
  const Matrix<int32_t> truth = nearest_neighbours(points, 30);
  NeighbourReport report;
  const Matrix<int32_t> found = nearest_neighbours_below(points, 30, 5000, &report);
  int64_t common = 0;
  for (int64_t i = 0; i < points.rows; ++i) {
    const std::set<int32_t> row(found.row(i), found.row(i) + 30);
    EXPECT_EQ(row.size(), 30u);
    EXPECT_EQ(row.count(static_cast<int32_t>(i)), 0u);
    common += std::count_if(truth.row(i), truth.row(i) + 30,
                            [&](int32_t id) { return row.count(id) != 0; });
  }
  const double recall = static_cast<double>(common) / static_cast<double>(truth.values.size());
  EXPECT_GT(recall, 0.95);
  EXPECT_LT(recall, 1);  // otherwise this tests nothing
  EXPECT_NEAR(report.recall, recall, 0.02);
  EXPECT_EQ(report.sampled, 500);
  EXPECT_THAT(report.method, HasSubstr("of 282 cells"));
  EXPECT_EQ(nearest_neighbours_below(points, 30, 5000, nullptr).values, found.values);
}

TEST(Neighbours, BelowTheLimitTheReportSaysExact) {
  NeighbourReport report{"", 0, 7};
  nearest_neighbours(planted_vectors(50, 4, 5, 0.1), 3, &report);
  EXPECT_EQ(report.method, "exact");
  EXPECT_EQ(report.recall, 1);
  EXPECT_EQ(report.sampled, 0);
}

// Cells of one row, one cell with all rows, more neighbours wanted than the visited cells hold.
TEST(Neighbours, AboveTheLimitOddDataFillsEveryRow) {
  EXPECT_THAT(nearest_neighbours_below(Matrix<float>(4, 3, 0.5f), 10, 2, nullptr).values,
              ElementsAre(1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2));
  const Matrix<float> points = planted_vectors(700, 16, 700, 0.0);
  const Matrix<int32_t> all = nearest_neighbours_below(points, 699, 2, nullptr);
  for (int64_t i = 0; i < all.rows; ++i) {
    EXPECT_EQ(std::set<int32_t>(all.row(i), all.row(i) + 699).size(), 699u);
  }
  Matrix<float> two(2, 1);
  two.values = {1.0f, 2.0f};
  NeighbourReport report;
  EXPECT_THAT(nearest_neighbours_below(two, 5, 2, &report).values, ElementsAre(1, 0));
  EXPECT_EQ(report.recall, 1);
}

TEST(Neighbours, VectorsThatAreNotFiniteAreAnError) {
  Matrix<float> points(3, 2, 1.0f);
  points.at(2, 1) = std::numeric_limits<float>::infinity();
  try {
    nearest_neighbours(points, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFailed);
    EXPECT_THAT(error.what(), HasSubstr("nearest neighbours: an embedding is not finite"));
  }
}

}  // namespace
}  // namespace simile
