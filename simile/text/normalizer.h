// SPDX-License-Identifier: Apache-2.0
// The first step of tokenising: rewriting the text (cleaning, lower case, accents).
#pragma once

#include "simile/text/normalized_text.h"

namespace simile {

// An immutable object, safe to use from several threads, which detail::make_normalizer() makes from
// the "normalizer" of a tokenizer.json (detail/components.h).
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Writes the normal form of `in` to `out` (another object), with origins if `in` has them.
  virtual void normalize(const NormalizedText& in, NormalizedText& out) const = 0;
};

}  // namespace simile
