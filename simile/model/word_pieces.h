// SPDX-License-Identifier: Apache-2.0
// Which tokens of a vocabulary stand for words and which for what is between them: in a mean of
// token vectors, punctuation only blurs.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/text/tokenizer.h"

namespace simile {

// 1 for each token whose text begins with a letter, a digit (categories L and N) or a mark (M, with
// which the pieces of many Indian scripts begin), 0 for the others and for special tokens. Its text
// is the token without what says where it stands in a word: "##" before it, or any of U+2581 and
// U+0120; of a byte-level vocabulary, which has a token for each of the 256 bytes, the bytes it
// stands for, without white space before them. Bytes that begin within a character count as a
// letter.
std::vector<uint8_t> find_word_pieces(const Tokenizer& tokenizer);

}  // namespace simile
