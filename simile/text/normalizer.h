// SPDX-License-Identifier: Apache-2.0
// The first step of tokenising: rewriting the text (cleaning, lower case, accents).
//
// A normaliser is an immutable object, safe to use from several threads. It is made from the
// "normalizer" of a tokenizer.json by the table in detail/components.h.
#pragma once

#include <array>
#include <cstdint>

#include "simile/text/normalized_text.h"

namespace simile {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Writes the normal form of `in` to `out` (another object), with origins if `in` has them.
  virtual void normalize(const NormalizedText& in, NormalizedText& out) const = 0;
};

struct BertNormalizerSettings {
  bool clean_text = true;            // drops control characters and U+FFFD, white space becomes ' '
  bool handle_chinese_chars = true;  // puts a space on both sides of CJK ideographs
  bool strip_accents = true;         // canonical decomposition (NFD), then drops category Mn
  bool lowercase = true;             // character by character, without context
};

// The steps above, in that order, as Hugging Face's BertNormalizer does them.
class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerSettings& settings);
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  void normalize_ascii(const NormalizedText& in, Span run, NormalizedText& out) const;

  BertNormalizerSettings settings_;
  std::array<char, 128> ascii_{};          // what each ASCII character becomes
  std::array<uint8_t, 128> ascii_kept_{};  // 0 for those dropped
};

}  // namespace simile
