// SPDX-License-Identifier: Apache-2.0
// Packed batches of texts that were tokenised once, and their masks for a masked language model.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/options.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/masked_lm.h"

namespace simile {

// Sequences `which` of `texts` (token ids), in order. `second` says for each of `texts` at which
// token its second text begins, from where type ids are 1; empty: all are 0.
PackedBatch pack_texts(const std::vector<std::vector<int32_t>>& texts,
                       const std::vector<int32_t>& second, const std::vector<int32_t>& which);

// Which tokens of a batch a masked language model has to guess: whole words at random (Devlin et
// al. 2019, section 3.1, and the whole-word masking of its later release).
//
// A word is a token with the continuation tokens after it; special tokens are never chosen. A word
// is chosen with probability `fraction`, and each of its tokens then becomes the mask token (80 %),
// a random token that is not special (10 %) or stays as it is (10 %). Pure.
struct MaskOptions {
  double fraction = 0.15;
  double mask_share = 0.8;
  double random_share = 0.1;

  void visit(OptionVisitor& v) {
    v.field("fraction", fraction, {"share of the words to predict", "", 0.01, 0.9});
    v.field("mask_share", mask_share, {"share of those shown as the mask token", "", 0, 1});
    v.field("random_share", random_share, {"share of those shown as a random token", "", 0, 1});
  }
};

// The facts about a vocabulary that masking needs.
struct MaskVocabulary {
  int32_t mask = 0;
  std::vector<uint8_t> is_special;       // [vocabulary]
  std::vector<uint8_t> is_continuation;  // [vocabulary]: goes on with the word before it
  std::vector<int32_t> ordinary;         // tokens that may stand in for another
};

// Errors (ErrorKind::kRecipe): mask_share + random_share above 1.
void check_mask_options(const MaskOptions& options);

// Changes batch.ids, returns the former ones in order. Errors: as check_mask_options().
MaskedTokens mask_words(const MaskOptions& options, const MaskVocabulary& vocabulary, uint64_t seed,
                        uint64_t number, PackedBatch& batch);

}  // namespace simile
