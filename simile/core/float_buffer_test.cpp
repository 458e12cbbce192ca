// SPDX-License-Identifier: Apache-2.0
#include "simile/core/float_buffer.h"

#include <gtest/gtest.h>

#include "simile/core/error.h"

namespace simile {
namespace {

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

}  // namespace
}  // namespace simile
