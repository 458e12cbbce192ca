// SPDX-License-Identifier: Apache-2.0
// How wide a text stands in a table.
#pragma once

#include <algorithm>
#include <string>

namespace simile {

// Of UTF-8 text, in characters.
inline size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace simile
