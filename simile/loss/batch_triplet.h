// SPDX-License-Identifier: Apache-2.0
// Triplet loss on triplets found in the batch by the classes of its single texts: the mean of
// relu(d(x_a, x_p) - d(x_a, x_n) + margin) over triplets (anchor a, p ≠ a of its class, n of
// another), by `mining`:
//
//   batch_hard       one for each anchor: farthest p, nearest n (Hermans et al., "In Defense of the
//                    Triplet Loss for Person Re-Identification", 2017, eq. 5). An anchor without a
//                    p counts with d(x_a, x_p) = 0, as in sentence-transformers: texts that are
//                    alone of their class are moved away from the others too
//   batch_semi_hard  one for each (a, p): the nearest n farther than p (Schroff et al., "FaceNet",
//                    2015, eq. 4), or the farthest n if none is
//   batch_all        all triplets; the mean is over those above zero (Hermans et al., eq. 6)
//
// d: Euclidean distance of raw embeddings or 1 - cosine. Otherwise an anchor without a p or without
// an n gives no triplet; a batch without triplets gives 0 with zero gradients. Triplets are chosen
// on values, the first of equals; gradients flow through the distances of those above zero.
#pragma once

#include <torch/types.h>

#include "simile/loss/triplet.h"

namespace simile {

// One number, of `left` alone. Errors: as check_loss_input(); kInput without classes [m]; kRecipe
// for an unknown mining.
torch::Tensor batch_triplet_loss(const LossInput& input, const TripletOptions& options);

}  // namespace simile
