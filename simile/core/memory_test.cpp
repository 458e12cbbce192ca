// SPDX-License-Identifier: Apache-2.0
#include "simile/core/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace simile {
namespace {

TEST(Memory, IsPartOfWhatTheMachineHas) {
  const int64_t machine =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
  EXPECT_GT(available_memory(), int64_t{1} << 20);
  EXPECT_LT(available_memory(), 64 * machine);  // swap included
}

TEST(Memory, KeepsWhatIsInItOnLargePages) {
  std::vector<char> bytes(size_t{5} << 20, 'x');
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4097}, bytes.size() - 3}) {
    prefer_large_pages(bytes.data() + 3, size);
  }
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 'x'), int64_t{5} << 20);
}

}  // namespace
}  // namespace simile
