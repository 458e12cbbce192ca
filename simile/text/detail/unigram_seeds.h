// SPDX-License-Identifier: Apache-2.0
// The pieces that the training of a unigram model starts from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/text/detail/word_counting.h"

namespace simile::detail {

struct SeedPiece {
  std::string text;
  int64_t count = 0;  // occurrences in the words, each taken as often as it was counted
  bool single = false;
};

// All characters of `alphabet` that occur, in order; then, of the substrings of 2 to 16 such
// characters that occur at least twice, the `limit` with the largest count times length, the
// largest first. Of substrings that only ever occur inside a longer one at the same place the
// longest alone counts (nodes of the suffix tree). Memory: about 30 bytes for each character of
// the words.
std::vector<SeedPiece> find_seed_pieces(const CountedWords& words,
                                        const std::vector<char32_t>& alphabet, size_t limit);

}  // namespace simile::detail
