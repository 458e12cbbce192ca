// SPDX-License-Identifier: Apache-2.0
// Losses on pairs that are positive (target above t) or negative, by their distance d_i =
// row_distance(u_i, v_i).
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

// Contrastive loss (Hadsell, Chopra and LeCun, "Dimensionality Reduction by Learning an Invariant
// Mapping", 2006, eq. 4):
//
//   (1/m) Σ_i 1/2 · [ p_i · d_i² + (1 - p_i) · relu(margin - d_i)² ]
//
// d_i: the distance of u_i and v_i (row_distance()); p_i = 1[y_i > t].
struct ContrastiveOptions {
  std::string distance = "cosine";
  double margin = 0.5;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number. Negatives and groups are not looked at. Errors: as check_pair_input().
torch::Tensor contrastive_loss(const LossInput& input, const ContrastiveOptions& options);

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
struct OnlineContrastiveOptions : ContrastiveOptions {};

// One number: 0 with zero gradients when no pair is hard. Errors: as contrastive_loss().
torch::Tensor online_contrastive_loss(const LossInput& input,
                                      const OnlineContrastiveOptions& options);

}  // namespace simile
