// SPDX-License-Identifier: Apache-2.0
// The four Unicode normalisation forms (Unicode Standard Annex #15), with origins.
#pragma once

#include "simile/text/normalizer.h"

namespace simile {

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

// Hugging Face's "NFC", "NFD", "NFKC" and "NFKD". A character made from several stands for the
// first of them; those that one becomes all stand for it.
class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form) : form_(form) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  UnicodeForm form_;
};

}  // namespace simile
