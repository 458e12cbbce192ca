// SPDX-License-Identifier: Apache-2.0
#include "simile/report/detail/html.h"

#include "simile/text/utf8.h"

namespace simile {

std::string escape_html(std::string_view text) {
  std::string repaired(text);
  repair_utf8(repaired);
  std::string escaped;
  for (const char c : repaired) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else if ((byte < 0x20 && c != '\n') || byte == 0x7F) {
      escaped += "\xEF\xBF\xBD";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string escape_shortened(std::string_view text, size_t characters) {
  const std::string_view shown = first_characters(text, characters);
  return escape_html(shown) + (shown.size() < text.size() ? "\xE2\x80\xA6" : "");
}

}  // namespace simile
