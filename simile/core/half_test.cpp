// SPDX-License-Identifier: Apache-2.0
#include "simile/core/half.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "simile/core/random.h"

namespace simile {
namespace {

using testing::ElementsAre;

TEST(Half, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if (!std::isnan(value)) {
      EXPECT_EQ(float_to_half(value), half);
    } else {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    }
    const float wide = bfloat16_to_float(half);
    if (!std::isnan(wide)) {
      EXPECT_EQ(float_to_bfloat16(wide), half);
    }
  }
}

TEST(Half, RoundsToTheNearestHalf) {
  RandomStream stream(1, "half");
  for (int i = 0; i < 20000; ++i) {
    const auto value =
        static_cast<float>(stream.normal() * std::pow(10.0, 8 * stream.uniform() - 6));
    if (std::abs(value) > 65504) continue;
    const uint16_t half = float_to_half(value);
    const float here = std::abs(half_to_float(half) - value);
    for (const int step : {-1, 1}) {
      const float there = half_to_float(static_cast<uint16_t>(half + step));
      if (std::isfinite(there)) {
        EXPECT_LE(here, std::abs(there - value)) << value;
      }
    }
  }
  EXPECT_TRUE(std::isinf(half_to_float(float_to_half(65520.0f))));
  EXPECT_EQ(half_to_float(float_to_half(65519.0f)), 65504.0f);
}

TEST(Half, KnownHalvesHaveTheirValues) {
  const struct {
    uint16_t half;
    float value;
  } cases[] = {{0x0000, 0.0f},     {0x3c00, 1.0f},        {0xc000, -2.0f},
               {0x7bff, 65504.0f}, {0x0001, 0x1p-24f},    {0x83ff, -0x1.ff8p-15f},
               {0x0400, 0x1p-14f}, {0x3555, 0x1.554p-2f}, {0x7c00, INFINITY},
               {0xfc00, -INFINITY}};
  for (const auto& c : cases) EXPECT_EQ(half_to_float(c.half), c.value) << c.half;
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
  EXPECT_TRUE(std::isnan(half_to_float(0x7e01)));
}

TEST(Half, ManyAtAnyAddressAreTheSameAsOneByOne) {
  std::vector<char> bytes(2 * 0x10000 + 1);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    std::memcpy(&bytes[1 + 2 * bits], &half, sizeof half);
  }
  std::vector<float> floats(0x10000);
  halves_to_floats(&bytes[1], 0x10000, floats.data());
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float one = half_to_float(static_cast<uint16_t>(bits));
    EXPECT_EQ(std::memcmp(&floats[bits], &one, sizeof one), 0) << bits;
  }
}

TEST(Half, RoundingInPlaceHappensOnce) {
  std::vector<float> values = {0.1f, 1.0f, -1e-9f, 70000.0f};
  for (int times = 0; times < 2; ++times) {
    round_to_halves(values.data(), 4);
    EXPECT_THAT(values, ElementsAre(0.0999755859375f, 1.0f, -0.0f, INFINITY));
  }
}

}  // namespace
}  // namespace simile
