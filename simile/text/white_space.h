// SPDX-License-Identifier: Apache-2.0
// White space around the fields of files: spaces, tabs and line ends.
#pragma once

#include <string>
#include <string_view>

namespace simile {

inline constexpr std::string_view kWhiteSpace = " \t\n";

// Whether a text is empty or white space: no text for those who need one.
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(kWhiteSpace) == std::string_view::npos;
}

// `text` without the white space at its ends.
inline std::string trim(std::string_view text) {
  if (is_blank(text)) return "";
  const size_t begin = text.find_first_not_of(kWhiteSpace);
  return std::string(text.substr(begin, text.find_last_not_of(kWhiteSpace) + 1 - begin));
}

}  // namespace simile
