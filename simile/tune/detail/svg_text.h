// SPDX-License-Identifier: Apache-2.0
// Text in a drawing.
#pragma once

#include <fmt/format.h>

#include <string>

namespace simile {

inline std::string escape_svg(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return safe;
}

// `anchor`: start, middle or end.
inline std::string svg_text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escape_svg(text));
}

}  // namespace simile
