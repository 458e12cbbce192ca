// SPDX-License-Identifier: Apache-2.0
// Tables and figures as people read them: on a terminal, and in Markdown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

using TableRows = std::vector<std::vector<std::string>>;  // the first row is the head

struct TextTableStyle {
  size_t indent = 0;        // spaces before each line
  std::string sides = "l";  // 'l' or 'r' for each column; the last one is that of all that follow
  size_t left_rows = 0;     // rows at the top whose cells are all on the left
};

// Lines of cells, two spaces apart, in columns as wide as their widest cell. No line ends in
// spaces.
std::string text_table(const TableRows& rows, const TextTableStyle& style = {});

// Columns that UTF-8 text takes on a terminal: two for a wide character of East Asia, none for a
// combining one. A broken byte takes one.
size_t displayed_width(std::string_view text);

// "| a | b |" and a line end. `|` is escaped, a line end within a cell becomes a space.
std::string markdown_row(const std::vector<std::string>& cells);
std::string markdown_table(const TableRows& rows);

// A fraction x 100 with two digits, any other figure with four; "+1.23" with a sign.
std::string show_figure(double value, bool is_fraction, bool with_sign = false);

// "1 pair", "2 pairs".
std::string counted(int64_t count, const std::string& noun);

// "0.0123", and "< 0.0001" for values that four digits would show as 0.
std::string show_p(double p);
// "p = 0.0123", "p < 0.0001".
std::string show_p_equation(double p);

// As RCL marks differences (Tan, Rolland and Tian 2022).
constexpr double kSignificance = 0.05;     // "*" below
constexpr double kWeakSignificance = 0.1;  // "_" below; otherwise ""
const char* significance_mark(double p);

}  // namespace simile
