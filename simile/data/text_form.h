// SPDX-License-Identifier: Apache-2.0
// Numbers that stand for texts, equal when the texts are the same up to case and punctuation
// (simile/text/words.h): what is kept of a data set to find its texts in another one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

// Texts of fewer words are greetings, names and numbers, which two sets may well share.
inline constexpr int64_t kTellingWords = 4;

struct TextForm {
  uint64_t key = 0;   // a 64-bit hash of the comparison key
  int32_t words = 0;  // of the comparison form

  bool is_telling() const { return words >= kTellingWords; }
};

TextForm text_form(std::string_view text);

// The same of each text, in parallel.
std::vector<TextForm> text_forms(const std::vector<std::string>& texts);

// Of a pair, whichever of the two comes first.
uint64_t pair_key(const TextForm& a, const TextForm& b);

// Sorted, each once.
using KeySet = std::vector<uint64_t>;
KeySet key_set(std::vector<uint64_t> keys);
KeySet key_set(const std::vector<TextForm>& forms);
bool contains(const KeySet& keys, uint64_t key);
int64_t count_common(const KeySet& a, const KeySet& b);

}  // namespace simile
