// SPDX-License-Identifier: Apache-2.0
#include "simile/core/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simile/core/error.h"

namespace simile {
namespace {

TEST(RunParallel, EveryNumberIsVisitedOnce) {
  for (const int64_t together : {1, 16, 1000}) {
    std::vector<int> visits(100, 0);
    run_parallel(100, together, [&](int64_t i) { ++visits[static_cast<size_t>(i)]; });
    EXPECT_THAT(visits, testing::Each(1));
  }
  run_parallel(0, 1, [](int64_t) { FAIL(); });
}

TEST(RunParallel, TheErrorOfTheLowestNumberReachesTheCallerAndTheRestIsDone) {
  for (const int64_t together : {1, 16, 1000}) {
    std::vector<int> visits(100, 0);
    try {
      run_parallel(100, together, [&](int64_t i) {
        if (i % 30 == 7) throw Error(ErrorKind::kInput, "number " + std::to_string(i));
        visits[static_cast<size_t>(i)] = 1;
      });
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "number 7");
    }
    EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), 96);
  }
}

TEST(RunParallelBlocks, BlocksCoverTheNumbers) {
  std::vector<int> visits(10, 0);
  run_parallel_blocks(10, 4, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(begin % 4, 0);
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  EXPECT_THAT(visits, testing::Each(1));
}

}  // namespace
}  // namespace simile
