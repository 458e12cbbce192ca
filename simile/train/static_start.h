// SPDX-License-Identifier: Apache-2.0
// The table of a static encoder before its first step, as the recipe's `architecture` says.
//
//   random  random directions
//   ppmi    directions in which tokens of the same neighbourhood are near each other
//           (simile/derive/ppmi_start.h)
//
// With a corpus the length of a row is its token's idf there over the mean, so that rare words
// decide from the first step; ppmi needs one. Rows of tokens that are no part of a word are zero
// and stay so (simile/kernel/static_encoder.h), unless `punctuation` keeps them; those of special
// tokens always are.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/event.h"
#include "simile/text/tokenizer.h"
#include "simile/train/train_options.h"

namespace simile {

// The rows [V, H] of the tokenizer's tokens. Errors: kRecipe for ppmi without a corpus; kInput for
// a corpus that cannot be read or is too small.
std::vector<float> static_start(const ArchitectureOptions& architecture, const Tokenizer& tokenizer,
                                uint64_t seed, EventSink& events);

}  // namespace simile
