// SPDX-License-Identifier: Apache-2.0
// Contrastive loss on the hard pairs of the batch alone (sentence-transformers,
// OnlineContrastiveLoss):
//
//   Σ_{i in P} d_i² + Σ_{i in N} relu(margin - d_i)²
//
// A sum, not a mean, and without the factor 1/2. Positive pairs are those with y_i > t.
//   P  positive pairs farther apart than the nearest negative pair
//   N  negative pairs nearer than the farthest positive pair
// With fewer than two pairs of the other kind, P holds the positive pairs farther apart than their
// mean, and N the negative pairs nearer than theirs: so it is with only one kind in the batch.
// Which pairs are hard is decided on values; gradients flow through the distances of those.
#pragma once

#include <torch/types.h>

#include "simile/loss/contrastive.h"

namespace simile {

struct LossRow;

struct OnlineContrastiveOptions : ContrastiveOptions {};

// One number: 0 with zero gradients when no pair is hard. Errors: as contrastive_loss().
torch::Tensor online_contrastive_loss(const LossInput& input,
                                      const OnlineContrastiveOptions& options);

LossRow online_contrastive_row();  // its row in loss_table.h

}  // namespace simile
