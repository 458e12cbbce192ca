// SPDX-License-Identifier: Apache-2.0
#include "simile/core/text_table.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace simile {
namespace {

size_t width_of(UChar32 character) {
  if (character < 0x300) return 1;
  const int8_t type = u_charType(character);
  if (type == U_NON_SPACING_MARK || type == U_ENCLOSING_MARK || type == U_FORMAT_CHAR) return 0;
  const int32_t width = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

}  // namespace

size_t displayed_width(std::string_view text) {
  size_t width = 0;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 character = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, character);
    width += width_of(character);
  }
  return width;
}

std::string text_table(const TableRows& rows, const TextTableStyle& style) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], displayed_width(row[c]));
    }
  }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line(style.indent, ' ');
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const std::string& cell = rows[r][c];
      const std::string space(widths[c] - displayed_width(cell), ' ');
      const bool is_right =
          r >= style.left_rows && style.sides[std::min(c, style.sides.size() - 1)] == 'r';
      line += (c == 0 ? "" : "  ") + (is_right ? space + cell : cell + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
    line += " |";
  }
  return line + "\n";
}

std::string markdown_table(const TableRows& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += markdown_row(row);
    if (&row == &rows[0]) text += markdown_row(std::vector<std::string>(row.size(), "---"));
  }
  return text;
}

std::string show_figure(double value, bool is_fraction, bool with_sign) {
  if (is_fraction) value *= 100;
  const int digits = is_fraction ? 2 : 4;
  return with_sign ? fmt::format("{:+.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
}

std::string counted(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string show_p(double p) { return p < 5e-5 ? "< 0.0001" : fmt::format("{:.4f}", p); }

std::string show_p_equation(double p) { return (p < 5e-5 ? "p " : "p = ") + show_p(p); }

const char* significance_mark(double p) {
  return p < kSignificance ? "*" : p < kWeakSignificance ? "_" : "";
}

}  // namespace simile
