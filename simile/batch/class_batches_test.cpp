// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "simile/batch/plan.h"
#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Classes = std::vector<int32_t>;

// How many examples of each class the batch has.
std::vector<int> counts_in(const std::vector<int32_t>& batch, const Classes& classes) {
  std::map<int32_t, int> counts;
  for (const int32_t example : batch) ++counts[classes[static_cast<size_t>(example)]];
  std::vector<int> sizes;
  for (const auto& [number, count] : counts) sizes.push_back(count);
  return sizes;
}

std::vector<int32_t> sorted_examples(const Batches& batches) {
  std::vector<int32_t> all = join_batches(batches);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(ClassBatches, ABatchHasSeveralClassesWithSeveralExamplesEach) {
  Classes classes;
  for (int32_t i = 0; i < 24; ++i) classes.push_back(i % 6);
  for (uint64_t epoch = 0; epoch < 20; ++epoch) {
    const Batches batches = plan_class_batches(classes, 2, 6, 1, epoch);
    ASSERT_EQ(batches.size(), 4u);
    for (const auto& batch : batches) EXPECT_THAT(counts_in(batch, classes), ElementsAre(2, 2, 2));
    EXPECT_EQ(sorted_examples(batches), order_sequential(24));
  }
}

TEST(ClassBatches, GroupsOfAClassDifferByOneAtMost) {
  // 7 examples with groups of 3: 3, 2 and 2; a class of one example is a group of its own.
  const Classes classes = {0, 0, 0, 0, 0, 0, 0, 1};
  std::vector<int> sizes;
  for (const auto& batch : plan_class_batches(classes, 3, 3, 1, 0)) {
    sizes.push_back(static_cast<int>(batch.size()));
  }
  EXPECT_THAT(sizes, UnorderedElementsAre(3, 2, 2, 1));
}

TEST(ClassBatches, ALargeClassIsSpreadOverTheBatches) {
  Classes classes(40, 0);  // ten groups of class 0, two of each of five others
  for (int32_t i = 0; i < 40; ++i) classes.push_back(1 + i % 5);
  for (uint64_t epoch = 0; epoch < 10; ++epoch) {
    const Batches batches = plan_class_batches(classes, 4, 8, 1, epoch);
    ASSERT_EQ(batches.size(), 10u);
    for (const auto& batch : batches) EXPECT_THAT(counts_in(batch, classes), ElementsAre(4, 4));
  }
}

TEST(ClassBatches, AClassComesAgainWhereThereAreTooFew) {
  const Classes classes = {0, 0, 0, 0, 1, 1};
  const Batches batches = plan_class_batches(classes, 2, 6, 1, 0);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_THAT(counts_in(batches[0], classes), ElementsAre(4, 2));
  EXPECT_EQ(plan_class_batches(Classes(6, 0), 2, 4, 1, 0).size(), 2u);
  EXPECT_TRUE(plan_class_batches({}, 2, 4, 1, 0).empty());
}

TEST(ClassBatches, IsAFunctionOfDataSeedAndEpochWithAFixedNumberOfBatches) {
  Classes classes;
  for (int32_t i = 0; i < 100; ++i) classes.push_back(i * i % 13);
  const Batches batches = plan_class_batches(classes, 3, 10, 5, 2);
  EXPECT_EQ(plan_class_batches(classes, 3, 10, 5, 2), batches);
  EXPECT_NE(plan_class_batches(classes, 3, 10, 5, 3), batches);
  EXPECT_NE(plan_class_batches(classes, 3, 10, 6, 2), batches);
  const int64_t count = count_class_batches(classes, 3, 10);
  for (uint64_t seed = 1; seed < 30; ++seed) {
    const Batches other = plan_class_batches(classes, 3, 10, seed, 0);
    EXPECT_EQ(static_cast<int64_t>(other.size()), count);
    EXPECT_EQ(sorted_examples(other), order_sequential(100));
    for (const auto& batch : other) EXPECT_LE(batch.size(), 10u);
  }
}

TEST(ClassBatches, SizesBelowOneAreErrors) {
  EXPECT_THROW(plan_class_batches({0}, 0, 4, 1, 0), Error);
  EXPECT_THROW(count_class_batches({0}, 2, 0), Error);
}

}  // namespace
}  // namespace simile
