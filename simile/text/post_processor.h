// SPDX-License-Identifier: Apache-2.0
// The last step of tokenising: putting special tokens around one text or a pair of texts.
#pragma once

#include <cstdint>
#include <vector>

namespace simile {

struct TemplatePiece {
  enum class Kind { kSpecial, kFirst, kSecond };
  Kind kind = Kind::kFirst;
  int32_t id = 0;       // kSpecial: the token; kFirst, kSecond: not used
  int32_t type_id = 0;  // token type of all tokens that the piece stands for
};

// All post-processors come down to two templates and the trimming of offsets, which
// detail/components.h reads from the "post_processor" of a tokenizer.json.
struct PostProcessor {
  // Without a post-processor: the texts alone, with token types 0 and 1.
  std::vector<TemplatePiece> single = {{TemplatePiece::Kind::kFirst, 0, 0}};
  std::vector<TemplatePiece> pair = {{TemplatePiece::Kind::kFirst, 0, 0},
                                     {TemplatePiece::Kind::kSecond, 0, 1}};
  // The same when no special tokens are wanted.
  std::vector<TemplatePiece> bare_single = single;
  std::vector<TemplatePiece> bare_pair = pair;
  // Offsets of byte-level tokens leave out the white space at their ends, except for a space that
  // may have been put before the text (prefix_space).
  bool trim_offsets = false;
  bool prefix_space = false;
};

// Number of pieces of a kind in a template.
int64_t count_pieces(const std::vector<TemplatePiece>& pieces, TemplatePiece::Kind kind);

// Which tokens are cut if there are too many, with the names of the `tokenizers` library.
struct TruncationSettings {
  enum class Strategy {
    kLongestFirst,  // of a pair, the longer text loses tokens first
    kOnlyFirst,
    kOnlySecond,
  };
  int64_t max_length = 0;  // most tokens of an encoding, special ones included; 0 for no limit
  Strategy strategy = Strategy::kLongestFirst;
  bool left = false;  // tokens are lost at the beginning of a text, not at its end
};

// How many tokens of two texts with `first` and `second` are kept when both may have `limit`.
struct PairLengths {
  int64_t first = 0;
  int64_t second = 0;
};
PairLengths truncate_longest_first(int64_t first, int64_t second, int64_t limit);
// The same by settings.strategy; `second` is 0 for a single text. Errors (kInput): the text to cut
// has no more tokens than must be cut.
PairLengths truncate(int64_t first, int64_t second, bool pair, int64_t limit,
                     const TruncationSettings& settings);

}  // namespace simile
