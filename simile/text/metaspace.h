// SPDX-License-Identifier: Apache-2.0
// The pre-tokeniser of sentencepiece models: spaces become a visible mark that words start with.
#pragma once

#include <string>
#include <vector>

#include "simile/text/pre_tokenizer.h"

namespace simile {

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
