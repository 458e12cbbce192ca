// SPDX-License-Identifier: Apache-2.0
// The second step of tokenising: cutting the normalised text into words.
//
// A pre-tokeniser is an immutable object, safe to use from several threads. It is made from the
// "pre_tokenizer" of a tokenizer.json by the table in detail/components.h.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "simile/text/normalized_text.h"

namespace simile {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces `words`, which are parts of `text` in order, by the words they are cut into. May
  // rewrite `text` itself (as byte-level pre-tokenisers do). `at_start` says that `text` begins at
  // byte 0 of the original.
  virtual void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const = 0;
  // Whether the words are left as plain UTF-8 that is to be read as byte-level characters, one for
  // each byte: by the model itself, or after map_bytes() (byte_level.h) has written them out.
  virtual bool leaves_bytes() const { return false; }
  // Whether split() has to be told `at_start` exactly, which takes origins: without them a text
  // whose first characters the normaliser dropped counts as beginning the original.
  virtual bool needs_start() const { return false; }
};

// "Sequence": one after the other.
class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<const PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;
  bool leaves_bytes() const override;
  bool needs_start() const override;

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

// Cuts at white space, which is dropped, and around each punctuation character, which is a word of
// its own (Hugging Face's BertPreTokenizer).
class BertPreTokenizer : public PreTokenizer {
 public:
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;
};

}  // namespace simile
