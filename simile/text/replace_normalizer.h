// SPDX-License-Identifier: Apache-2.0
// "Replace": each match of a pattern becomes a fixed text.
#pragma once

#include <string>
#include <utility>

#include "simile/text/normalizer.h"
#include "simile/text/text_pattern.h"

namespace simile {

class ReplaceNormalizer : public Normalizer {
 public:
  // `content` must be valid UTF-8. All of it stands for the last character of the match, as in the
  // `tokenizers` library. normalize() fails (kInput) when the result is longer than 1 GiB.
  ReplaceNormalizer(TextPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void normalize(const NormalizedText& in, NormalizedText& out) const override;

 private:
  TextPattern pattern_;
  std::string content_;
};

}  // namespace simile
