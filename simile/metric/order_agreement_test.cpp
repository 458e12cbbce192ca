// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/order_agreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {
namespace {

using Values = std::vector<double>;

// p of lists without equal numbers is that of tables of Kendall's tau (Kendall 1938, twice the
// probability of one side).
TEST(OrderAgreement, LiteralCases) {
  const struct {
    Values left, right;
    int64_t same, reversed;
    double p;
  } cases[] = {
      {{1, 2, 3, 4}, {10, 20, 30, 40}, 6, 0, 2.0 / 24},
      {{1, 2, 3, 4}, {4, 3, 2, 1}, 0, 6, 2.0 / 24},
      {{1, 2, 3, 4}, {2, 1, 3, 4}, 5, 1, 8.0 / 24},
      {{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}, 10, 0, 2.0 / 120},
      {{1, 2, 3, 4, 5}, {1, 2, 3, 5, 4}, 9, 1, 10.0 / 120},
      {{1, 1, 2}, {1, 2, 3}, 2, 0, 4.0 / 6},
      {{1, 1, 1}, {1, 2, 3}, 0, 0, 1},
      {{}, {}, 0, 0, 1},
  };
  for (const auto& c : cases) {
    const OrderAgreement agreement = compare_orders(c.left, c.right);
    EXPECT_EQ(agreement.same, c.same);
    EXPECT_EQ(agreement.reversed, c.reversed);
    const auto pairs = static_cast<double>(c.same + c.reversed);
    EXPECT_DOUBLE_EQ(agreement.tau,
                     pairs == 0 ? 0 : static_cast<double>(c.same - c.reversed) / pairs);
    EXPECT_DOUBLE_EQ(agreement.p, c.p);
  }
}

TEST(OrderAgreement, ManyRowsAreDrawn) {
  Values rising(12), wave(12);
  for (size_t i = 0; i < rising.size(); ++i) {
    rising[i] = static_cast<double>(i);
    wave[i] = static_cast<double>(i % 2 == 0 ? i : 12 - i);
  }
  EXPECT_NEAR(compare_orders(rising, rising).p, 0, 1e-4);
  const OrderAgreement mixed = compare_orders(rising, wave);
  EXPECT_GT(mixed.p, 0.05);
  EXPECT_EQ(mixed.p, compare_orders(rising, wave).p);
}

TEST(OrderAgreement, WhatIsNoNumberIsRefused) {
  EXPECT_THROW(compare_orders({1}, {1, 2}), Error);
  EXPECT_THROW(compare_orders({1, NAN}, {1, 2}), Error);
}

}  // namespace
}  // namespace simile
