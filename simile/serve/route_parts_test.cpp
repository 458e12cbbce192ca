// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "simile/serve/detail/route_row.h"

namespace simile::detail {
namespace {

std::string numbers(const std::vector<float>& vector) {
  std::string out;
  append_vector(out, vector.data(), static_cast<int64_t>(vector.size()));
  return out;
}

TEST(RouteParts, VectorsHaveTheShortestDigits) {
  EXPECT_EQ(numbers({}), "[]");
  EXPECT_EQ(numbers({0, -0.0f, 1, -2, 0.5f, 100, 123.25f, 0.1f, -0.0625f}),
            "[0,-0,1,-2,0.5,100,123.25,0.1,-0.0625]");
  EXPECT_EQ(numbers({1e-4f, 9.999e-5f, 9999999, 1e7f, 1.5e16f}),
            "[0.0001,9.999e-05,9999999,10000000,1.5e+16]");
}

TEST(RouteParts, NumbersAreThoseOfFmt) {
  std::mt19937 random(1);
  std::normal_distribution<float> usual(0, 0.05f);
  std::vector<float> vector;
  for (int i = 0; i < 100000; ++i) {
    vector.push_back(usual(random));
    const uint32_t bits = random();
    float any = 0;
    std::memcpy(&any, &bits, sizeof(any));
    if (any - any == 0) vector.push_back(any);
  }
  vector.push_back(std::numeric_limits<float>::max());
  vector.push_back(std::numeric_limits<float>::denorm_min());
  for (const float number : vector) ASSERT_EQ(numbers({number}), fmt::format("[{}]", number));
}

}  // namespace
}  // namespace simile::detail
