// SPDX-License-Identifier: Apache-2.0
// The second step of tokenising: cutting the normalised text into words.
//
// A pre-tokeniser is an immutable object, safe to use from several threads. It is made from the
// "pre_tokenizer" of a tokenizer.json by the table in detail/components.h.
#pragma once

#include <string>
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

// In each part: every ' ' becomes the mark; the mark is put in front of a part that does not start
// with it, always, never, or only (kFirst) of the part whose first character is at byte 0 of the
// original text; then (with `split`) the part is cut before each mark. The mark put in front has
// the origin of the character after it. Hugging Face's Metaspace.
struct MetaspaceSettings {
  enum class Prepend { kAlways, kNever, kFirst };
  std::string mark = "\u2581";  // one character, UTF-8
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceSettings settings);
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override;
  bool needs_start() const override {
    return settings_.prepend == MetaspaceSettings::Prepend::kFirst;
  }

 private:
  bool prepends(const NormalizedText& text, Span word, bool at_start) const;
  void rewrite(const NormalizedText& text, Span word, bool prepend, NormalizedText& out) const;
  void cut(std::string_view text, Span word, std::vector<Span>& words) const;

  MetaspaceSettings settings_;
};

}  // namespace simile
