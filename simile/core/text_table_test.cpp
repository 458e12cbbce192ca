// SPDX-License-Identifier: Apache-2.0
#include "simile/core/text_table.h"

#include <gtest/gtest.h>

namespace simile {
namespace {

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  const TableRows rows = {{"", "a", "bb"}, {"row", "1.5", "x"}, {"é", "22", ""}};
  EXPECT_EQ(text_table(rows), "     a    bb\nrow  1.5  x\né    22\n");
  EXPECT_EQ(text_table(rows, {2, "lr"}), "         a  bb\n  row  1.5   x\n  é     22\n");
  EXPECT_EQ(text_table(rows, {0, "lrl", 1}), "     a    bb\nrow  1.5  x\né     22\n");
  EXPECT_EQ(text_table({}), "");
}

TEST(TextTable, WidthsAreThoseOfATerminal) {
  EXPECT_EQ(displayed_width("naïve ± 1"), 9u);
  EXPECT_EQ(displayed_width("日本"), 4u);
  EXPECT_EQ(displayed_width("e\u0301"), 1u);
  EXPECT_EQ(displayed_width("\xFF"), 1u);
}

TEST(TextTable, MarkdownKeepsItsCellsApart) {
  EXPECT_EQ(markdown_table({{"a", "b|c"}, {"1\n2", ""}}),
            "| a | b\\|c |\n| --- | --- |\n| 1 2 |  |\n");
}

TEST(TextTable, FiguresAndPValues) {
  EXPECT_EQ(show_figure(0.12345, true), "12.35");
  EXPECT_EQ(show_figure(0.12345, false), "0.1235");
  EXPECT_EQ(show_figure(0.01, true, true), "+1.00");
  EXPECT_EQ(show_p(0.01234), "0.0123");
  EXPECT_EQ(show_p_equation(0.00006), "p = 0.0001");
  EXPECT_EQ(show_p_equation(0.00004), "p < 0.0001");
  EXPECT_STREQ(significance_mark(0.049), "*");
  EXPECT_STREQ(significance_mark(0.05), "_");
  EXPECT_STREQ(significance_mark(0.1), "");
}

}  // namespace
}  // namespace simile
