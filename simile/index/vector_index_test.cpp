// SPDX-License-Identifier: Apache-2.0
#include "simile/index/vector_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/random.h"

namespace simile {
namespace {

Matrix<float> random_vectors(int64_t rows, int64_t cols, const char* name) {
  Matrix<float> vectors(rows, cols);
  RandomStream stream(2, name);
  for (float& value : vectors.values) value = static_cast<float>(stream.normal());
  return vectors;
}

std::vector<int64_t> keys_of(const std::vector<Hit>& hits) {
  std::vector<int64_t> keys;
  for (const Hit& hit : hits) keys.push_back(hit.id);
  return keys;
}

TEST(VectorIndex, SavedAndLoadedItFindsTheSame) {
  for (const VectorMetric metric : {VectorMetric::kInnerProduct, VectorMetric::kSquaredDistance,
                                    VectorMetric::kAbsoluteDistance}) {
    VectorIndex index(12, metric);
    std::vector<int64_t> keys;
    for (int64_t i = 0; i < 200; ++i) keys.push_back(1000 - i);
    index.add(random_vectors(200, 12, "a"), keys);
    EXPECT_EQ(index.remove({1000, 950, 5}), 2);
    const std::string path = testing::TempDir() + "simile_vector_index_" + std::to_string(getpid());
    index.save(path);
    const VectorIndex loaded = VectorIndex::load(path, 12, metric);
    EXPECT_EQ(loaded.size(), 198);
    EXPECT_EQ(loaded.metric(), metric);
    const Matrix<float> queries = random_vectors(5, 12, "q");
    const auto expected = index.search(queries, 10), found = loaded.search(queries, 10);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(keys_of(found[i]), keys_of(expected[i]));
    EXPECT_THROW(VectorIndex::load(path, 13, metric), Error);
    std::remove(path.c_str());
  }
}

TEST(VectorIndex, AVectorIsItsOwnNearest) {
  VectorIndex index(8, VectorMetric::kSquaredDistance);
  const Matrix<float> vectors = random_vectors(50, 8, "own");
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < 50; ++i) keys.push_back(i * 3);
  index.add(vectors, keys);
  const auto found = index.search(vectors, 1);
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(found[i][0].id, keys[i]);
    EXPECT_EQ(found[i][0].score, 0.0f);
  }
}

TEST(VectorIndex, WrongShapesAreErrors) {
  VectorIndex index(8, VectorMetric::kInnerProduct);
  EXPECT_THROW(index.add(Matrix<float>(1, 7), {1}), Error);
  EXPECT_THROW(index.add(Matrix<float>(2, 8), {1}), Error);
  EXPECT_THROW(index.search(Matrix<float>(1, 9), 1), Error);
  EXPECT_THROW(VectorIndex(0, VectorMetric::kInnerProduct), Error);
  EXPECT_THROW(index.save(testing::TempDir() + "no/such/folder/x"), Error);
}

}  // namespace
}  // namespace simile
