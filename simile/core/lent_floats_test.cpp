// SPDX-License-Identifier: Apache-2.0
#include "simile/core/lent_floats.h"

#include <gtest/gtest.h>

#include <utility>

#include "simile/core/error.h"

namespace simile {
namespace {

TEST(LentFloats, MemoryGivenBackIsLentAgain) {
  const float* first = nullptr;
  {
    LentFloats floats(12345);
    first = floats.data();
    floats.data()[0] = floats.data()[12344] = 1;
  }
  const LentFloats again(12340);
  EXPECT_EQ(again.data(), first);
  const LentFloats another(12340);
  EXPECT_NE(another.data(), first);
}

TEST(LentFloats, AMuchLargerBufferStaysForThoseWhoNeedIt) {
  const float* large = nullptr;
  { large = LentFloats(54321).data(); }
  const LentFloats small(10);
  EXPECT_NE(small.data(), large);
  const LentFloats other(54321);
  EXPECT_EQ(other.data(), large);
}

TEST(LentFloats, MovesWithItsMemory) {
  LentFloats a(1000);
  const float* const data = a.data();
  LentFloats b = std::move(a);
  EXPECT_EQ(b.data(), data);
  LentFloats c(7);
  c = std::move(b);
  EXPECT_EQ(c.data(), data);
}

TEST(LentFloats, WithoutMemoryIsAnError) { EXPECT_THROW(LentFloats(int64_t{1} << 58), Error); }

}  // namespace
}  // namespace simile
