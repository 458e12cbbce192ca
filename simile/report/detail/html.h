// SPDX-License-Identifier: Apache-2.0
// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace simile {

// For element content and for attributes in double quotes: & < > " ' become entities, broken UTF-8
// and control characters but for line ends become U+FFFD.
std::string escape_html(std::string_view text);

// Escaped, and cut after `characters` with an ellipsis.
std::string escape_shortened(std::string_view text, size_t characters);

}  // namespace simile
