// SPDX-License-Identifier: Apache-2.0
// The second step of tokenising: cutting the normalised text into words.
//
// A pre-tokeniser is an immutable object, safe to use from several threads. It is made from the
// "pre_tokenizer" of a tokenizer.json by the table in detail/components.h.
#pragma once

#include <vector>

#include "simile/text/normalized_text.h"

namespace simile {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces `words`, which are parts of `text` in order, by the words they are cut into. May
  // rewrite `text` itself (as byte-level pre-tokenisers do).
  virtual void split(NormalizedText& text, std::vector<Span>& words) const = 0;
};

// Cuts at white space, which is dropped, and around each punctuation character, which is a word of
// its own (Hugging Face's BertPreTokenizer).
class BertPreTokenizer : public PreTokenizer {
 public:
  void split(NormalizedText& text, std::vector<Span>& words) const override;
};

}  // namespace simile
