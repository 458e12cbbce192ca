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

const std::string kOwner(32, 'a');

std::vector<int64_t> keys_of(const std::vector<VectorHit>& hits) {
  std::vector<int64_t> keys;
  for (const VectorHit& hit : hits) keys.push_back(hit.vector.key);
  return keys;
}

TEST(VectorIndex, SavedAndLoadedItFindsTheSame) {
  for (const VectorMetric metric : {VectorMetric::kInnerProduct, VectorMetric::kSquaredDistance,
                                    VectorMetric::kAbsoluteDistance}) {
    VectorIndex index(12, metric);
    std::vector<VectorKey> keys;
    for (int64_t i = 0; i < 200; ++i) keys.push_back({1000 - i, static_cast<uint64_t>(7 * i)});
    index.add(random_vectors(200, 12, "a"), keys);
    EXPECT_EQ(index.remove({1000, 950, 5}), 2);
    const std::string path = testing::TempDir() + "simile_vector_index_" + std::to_string(getpid());
    index.save(path, kOwner);
    const VectorIndex loaded = VectorIndex::load(path, 12, metric, kOwner);
    EXPECT_EQ(loaded.size(), 198);
    EXPECT_EQ(loaded.metric(), metric);
    const Matrix<float> queries = random_vectors(5, 12, "q");
    const auto expected = index.search(queries, 10), found = loaded.search(queries, 10);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(keys_of(found[i]), keys_of(expected[i]));
    for (const auto& hits : loaded.search(queries, 3)) {
      for (const VectorHit& hit : hits) {
        EXPECT_EQ(static_cast<int64_t>(hit.vector.content), 7 * (1000 - hit.vector.key));
      }
    }
    EXPECT_THROW(VectorIndex::load(path, 13, metric, kOwner), Error);
    EXPECT_THROW(VectorIndex::load(path, 12, metric, std::string(32, 'b')), Error);
    std::remove(path.c_str());
  }
}

TEST(VectorIndex, AVectorIsItsOwnNearest) {
  VectorIndex index(8, VectorMetric::kSquaredDistance);
  const Matrix<float> vectors = random_vectors(50, 8, "own");
  std::vector<VectorKey> keys;
  for (int64_t i = 0; i < 50; ++i) keys.push_back({i * 3, 0});
  index.add(vectors, keys);
  const auto found = index.search(vectors, 1);
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(found[i][0].vector.key, keys[i].key);
    EXPECT_EQ(found[i][0].score, 0.0f);
  }
}

TEST(VectorIndex, WrongShapesAreErrors) {
  VectorIndex index(8, VectorMetric::kInnerProduct);
  EXPECT_THROW(index.add(Matrix<float>(1, 7), {{1, 0}}), Error);
  EXPECT_THROW(index.add(Matrix<float>(2, 8), {{1, 0}}), Error);
  EXPECT_THROW(index.search(Matrix<float>(1, 9), 1), Error);
  EXPECT_THROW(VectorIndex(0, VectorMetric::kInnerProduct), Error);
  EXPECT_THROW(index.save(testing::TempDir() + "no/such/folder/x", kOwner), Error);
}

}  // namespace
}  // namespace simile
