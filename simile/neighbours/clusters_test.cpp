// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/neighbours/detail/planted_vectors_test.h"

namespace simile {
namespace {

using detail::planted_vectors;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Clusters, AreThePlantedOnes) {
  for (const int64_t planted : {2, 7, 40}) {
    const std::vector<int32_t> clusters =
        cluster_vectors(planted_vectors(2000, 16, planted, 0.02), planted, 5);
    std::map<int64_t, std::set<int32_t>> of_planted;
    for (size_t i = 0; i < clusters.size(); ++i) {
      of_planted[static_cast<int64_t>(i) % planted].insert(clusters[i]);
    }
    std::set<int32_t> seen;
    for (const auto& [centre, numbers] : of_planted) {
      ASSERT_EQ(numbers.size(), 1u) << planted << " " << centre;
      seen.insert(*numbers.begin());
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), planted);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), planted - 1);
  }
}

TEST(Clusters, ThreadsChangeNothingAndTheSeedDoes) {
  const Matrix<float> vectors = planted_vectors(3000, 12, 300, 0.5);
  set_thread_count(1);
  const std::vector<int32_t> one = cluster_vectors(vectors, 30, 5);
  set_thread_count(2);
  EXPECT_EQ(cluster_vectors(vectors, 30, 5), one);
  EXPECT_NE(cluster_vectors(vectors, 30, 6), one);
}

TEST(Clusters, OddRequestsHaveDefinedAnswers) {
  EXPECT_THAT(cluster_vectors(Matrix<float>(0, 3), 4, 1), IsEmpty());
  EXPECT_THAT(cluster_vectors(Matrix<float>(5, 3, 2.0f), 1, 1), Each(0));
  EXPECT_THAT(cluster_vectors(Matrix<float>(5, 3, 2.0f), 4, 1), Each(0));  // equal rows
  Matrix<float> three(3, 1);
  three.values = {1.0f, 2.0f, 3.0f};
  const std::vector<int32_t> own = cluster_vectors(three, 10, 1);
  EXPECT_EQ(std::set<int32_t>(own.begin(), own.end()).size(), 3u);
}

TEST(Clusters, ACentreWithoutRowsMovesToTheFarthestRow) {
  // 1,100 centres start at random rows, of which 1,000 are equal: hundreds of them begin empty.
  Matrix<float> vectors(2200, 2, 1.0f);
  for (int64_t i = 1000; i < 2200; ++i) vectors.at(i, 0) = static_cast<float>(i);
  RandomStream stream(3, "test");
  const Matrix<float> centres = detail::train_centres(vectors, {1100, 256, 20}, stream);
  const std::vector<int32_t> nearest = detail::nearest_centres(vectors, centres).centre;
  EXPECT_GT(std::set<int32_t>(nearest.begin(), nearest.end()).size(), 1000u);
}

TEST(Clusters, EveryRowJoinsTheNearestCentre) {
  Matrix<float> vectors(6, 1), centres(3, 1);
  vectors.values = {-5.0f, 0.4f, 0.6f, 1.0f, 7.0f, 0.5f};
  centres.values = {0.0f, 1.0f, 1.0f};
  EXPECT_THAT(detail::nearest_centres(vectors, centres).centre, ElementsAre(0, 0, 1, 1, 1, 0));
}

TEST(Clusters, WrongRequestsAreErrors) {
  const auto message = [](const Matrix<float>& vectors, int64_t clusters) -> std::string {
    try {
      cluster_vectors(vectors, clusters, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kFailed);
      return error.what();
    }
    return "";
  };
  Matrix<float> vectors(3, 2, 1.0f);
  EXPECT_THAT(message(vectors, 0), HasSubstr("expected 1 or more of them, found 0"));
  vectors.at(1, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message(vectors, 2), HasSubstr("clusters: an embedding is not finite"));
}

TEST(SampleRows, AreDifferentRisingAndAsManyAsAsked) {
  RandomStream stream(1, "sample");
  for (const int64_t count : {0, 1, 50, 100}) {
    const std::vector<int32_t> sample = detail::sample_rows(100, count, stream);
    EXPECT_EQ(static_cast<int64_t>(sample.size()), count);
    for (size_t i = 1; i < sample.size(); ++i) EXPECT_LT(sample[i - 1], sample[i]);
  }
}

}  // namespace
}  // namespace simile
