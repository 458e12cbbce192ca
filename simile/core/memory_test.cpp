// SPDX-License-Identifier: Apache-2.0
#include "simile/core/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace simile {
namespace {

TEST(Memory, IsPartOfWhatTheMachineHas) {
  const int64_t machine =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
  EXPECT_GT(available_memory(), int64_t{1} << 20);
  EXPECT_LT(available_memory(), 64 * machine);  // swap included
}

}  // namespace
}  // namespace simile
