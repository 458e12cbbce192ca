// SPDX-License-Identifier: Apache-2.0
// The normaliser of sentencepiece models: a table from character sequences to texts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/normalizer.h"

namespace simile {

// Applies a sentencepiece "precompiled_charsmap" as Hugging Face's Precompiled does: a grapheme
// cluster of less than 6 bytes is looked up whole, and if the table has nothing, as all longer
// ones, character by character; what the table does not know stays as it is. A look-up takes the
// shortest entry that the looked-up bytes begin with, and replaces all of them: a mark on a
// character that has an entry of its own is therefore lost.
//
// Origins are the library's as well: an added character has the origin of the character before it;
// a removal before the first written character is not counted, which shifts all later origins.
//
// The table: a little-endian uint32 (size of the trie in bytes), a trie of 32-bit units in the
// darts-clone layout, then texts that end with a zero byte, which the trie's values point into.
class PrecompiledNormalizer : public Normalizer {
 public:
  // Errors (kInput, naming `where`): a table that is cut short, is not UTF-8, or whose trie has a
  // value that points outside the texts.
  PrecompiledNormalizer(std::string_view table, const std::string& where);
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  static constexpr int64_t kNone = -1;

  void check_values(const std::string& where) const;
  // Where the text that replaces `part` starts in texts_; kNone without an entry.
  int64_t find(std::string_view part) const;
  std::string_view text_at(int64_t begin) const;

  std::vector<uint32_t> units_;
  std::string texts_;
  std::array<int64_t, 128> ascii_{};  // find() of each ASCII character
};

}  // namespace simile
