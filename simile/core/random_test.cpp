// SPDX-License-Identifier: Apache-2.0
#include "simile/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace simile {
namespace {

// The known answers of the Random123 distribution (kat_vectors) for philox4x32-10.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DiffersBySeedNameAndSubstream) {
  const uint32_t base = RandomStream(1, "order", 0).next();
  EXPECT_EQ(base, RandomStream(1, "order", 0).next());
  EXPECT_NE(base, RandomStream(2, "order", 0).next());
  EXPECT_NE(base, RandomStream(1, "dropout", 0).next());
  EXPECT_NE(base, RandomStream(1, "order", 1).next());
}

TEST(RandomStream, SeekContinuesWhereAnotherStreamStopped) {
  RandomStream whole(7, "test");
  for (int i = 0; i < 11; ++i) whole.next();
  RandomStream resumed(7, "test");
  resumed.seek(whole.position());
  for (int i = 0; i < 9; ++i) EXPECT_EQ(whole.next(), resumed.next());
}

TEST(RandomStream, UniformAndNormalHaveTheirMoments) {
  RandomStream stream(3, "moments");
  const int n = 200000;
  double mean = 0, square = 0, normal_mean = 0, normal_square = 0;
  for (int i = 0; i < n; ++i) {
    const double u = stream.uniform(), z = stream.normal();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    mean += u / n;
    square += u * u / n;
    normal_mean += z / n;
    normal_square += z * z / n;
  }
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(square, 1.0 / 3, 0.005);
  EXPECT_NEAR(normal_mean, 0, 0.01);
  EXPECT_NEAR(normal_square, 1, 0.02);
}

TEST(RandomStream, BelowReachesEveryValueEvenly) {
  RandomStream stream(5, "below");
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[stream.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Shuffle, IsAPermutationThatTheSeedDecides) {
  std::vector<int> a(100), b(100), c(100);
  std::iota(a.begin(), a.end(), 0);
  c = b = a;
  RandomStream s1(1, "x"), s2(1, "x"), s3(2, "x");
  shuffle(a, s1);
  shuffle(b, s2);
  shuffle(c, s3);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  std::sort(a.begin(), a.end());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace simile
