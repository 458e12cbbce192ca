// SPDX-License-Identifier: Apache-2.0
// Normalisers that decompose characters: the four Unicode normalisation forms and BERT's.
#pragma once

#include <array>
#include <cstdint>

#include "simile/text/normalizer.h"

namespace simile {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

// The forms of Unicode Standard Annex #15, as Hugging Face's "NFC", "NFD", "NFKC" and "NFKD". A
// character made from several stands for the first of them; those that one becomes all stand for
// it.
class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form) : form_(form) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  UnicodeForm form_;
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
