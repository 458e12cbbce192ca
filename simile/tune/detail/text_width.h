// SPDX-License-Identifier: Apache-2.0
// How wide a text stands in a table.
#pragma once

#include <string>

#include "simile/text/utf8.h"

namespace simile {

// Of UTF-8 text, in characters.
inline size_t width_of(const std::string& text) { return count_characters(text); }

}  // namespace simile
