// SPDX-License-Identifier: Apache-2.0
// The words of a text, as lexical scores and batch orders count them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace simile {

// Maximal runs of Unicode letters, digits and combining marks, in lower case (code point by code
// point); every ideograph is a word of its own. Broken UTF-8 separates words.
std::vector<std::string> split_words(std::string_view text);

}  // namespace simile
