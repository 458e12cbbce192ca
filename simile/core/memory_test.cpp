// SPDX-License-Identifier: Apache-2.0
#include "simile/core/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "simile/core/error.h"

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

TEST(FloatBuffer, GrowsNeverShrinksAndIsAligned) {
  FloatBuffer buffer;
  EXPECT_EQ(buffer.reserve(0), nullptr);
  for (const int64_t size : {1, 100, 3 << 20}) {
    float* const data = buffer.reserve(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    data[0] = data[size - 1] = 1;
    EXPECT_EQ(buffer.size(), size);
  }
  EXPECT_EQ(buffer.reserve(5), buffer.data());
  EXPECT_EQ(buffer.size(), 3 << 20);
}

TEST(FloatBuffer, MovesWithItsMemory) {
  FloatBuffer a;
  float* const data = a.reserve(10);
  FloatBuffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 10);
}

TEST(FloatBuffer, WithoutMemoryIsAnError) {
  FloatBuffer buffer;
  EXPECT_THROW(buffer.reserve(int64_t{1} << 58), Error);
}

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
