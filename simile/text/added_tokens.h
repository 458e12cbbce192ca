// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in the text as such, before anything is cut: "[MASK]", "<mask>".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/text/normalized_text.h"

namespace simile {

namespace detail {
class PieceTrie;
}

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it as well
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for, in normal form, in the normalised text
};

// A part of a text: an added token, or (id -1) what is between two of them.
struct TextPart {
  Span span;
  int32_t id = -1;
};

// Finds a set of tokens: at each place the longest, from left to right, without overlap but for
// white space that `rstrip` took and the next token begins with. Immutable and safe to use from
// several threads.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  // `patterns` are the texts to look for, one for each token; empty ones are never found.
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& patterns);

  bool empty() const { return trie_ == nullptr; }
  // Cuts `text` (which need not be valid UTF-8) into parts in order; empty text has no parts.
  void split(std::string_view text, std::vector<TextPart>& parts) const;

 private:
  // The longest token that starts at text[begin]: its number and size; number -1 when there is
  // none.
  std::pair<int32_t, size_t> match(std::string_view text, size_t begin) const;
  size_t find_start(std::string_view text, size_t begin) const;

  std::vector<AddedToken> tokens_;
  std::shared_ptr<const detail::PieceTrie> trie_;  // null: no tokens
  std::array<bool, 256> starts_{};
  int only_start_ = -1;  // the byte that all tokens start with, when there is just one
};

}  // namespace simile
