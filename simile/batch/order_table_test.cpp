// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/order_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simile/core/config.h"
#include "simile/core/detail/error_of_test.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

// The message of the error, or nothing.
std::string check(const std::string& yaml) {
  OrderOptions options;
  return error_of(ErrorKind::kRecipe, [&] {
    read_options(parse_config(yaml, "test"), options);
    check_order_options(options, "pairs.tsv");
  });
}

TEST(OrderOptions, AnOrderTakesItsOwnOptions) {
  for (const char* good :
       {"random", "sequential", "no_duplicates", "{name: length_bucketed, pool_batches: 8}",
        "{name: neighbours, group_size: 4, neighbours: 9, side: right, allow_same: true, "
        "reverse: false}",
        "{name: words, group_size: 4, shingle: 2, stop_words: [the], side: right}",
        "{name: clusters, clusters: 9, group_size: 4, side: right}",
        "{name: neighbour_words, top_words: 9, group_size: 4, side: right}",
        "{name: random, labelled_negatives: 2, positive_above: 0.3}",
        "{name: random, shingle: 1}"}) {
    EXPECT_EQ(check(good), "") << good;
  }
}

TEST(OrderOptions, AutoComparesBytesOnTheCpu) {
  OrderOptions options;
  EXPECT_EQ(options.chosen_precision(true), "int8");
  EXPECT_EQ(options.chosen_precision(false), "fp32");
  options.precision = "bf16";
  EXPECT_EQ(options.chosen_precision(true), "bf16");
  EXPECT_EQ(check("{name: neighbours, precision: auto}"), "");
}

TEST(OrderOptions, AnOptionOfAnotherOrderIsRefused) {
  EXPECT_THAT(
      check("{name: random, shingle: 2, reverse: false}"),
      HasSubstr(
          "pairs.tsv: the order random does not take: reverse, shingle; remove it, or choose the "
          "order it belongs to (reverse: neighbours; shingle: words)"));
  EXPECT_THAT(check("{name: words, clusters: 9, top_words: 2, neighbours: 4}"),
              HasSubstr("does not take: neighbours, clusters, top_words;"));
  EXPECT_THAT(check("{name: clusters, stop_words: [a], allow_same: true, pool_batches: 2}"),
              HasSubstr("does not take: allow_same, stop_words, pool_batches;"));
  EXPECT_THAT(check("{name: sequential, group_size: 4, side: right}"),
              HasSubstr("does not take: group_size, side;"));
  for (const char* order : {"no_duplicates", "length_bucketed"}) {
    EXPECT_THAT(check(std::string("{labelled_negatives: 1, name: ") + order + "}"),
                HasSubstr("does not take: labelled_negatives;"));
  }
  EXPECT_THAT(check("{name: random, positive_above: 0.5}"), HasSubstr("labelled_negatives"));
}

}  // namespace
}  // namespace simile
