// SPDX-License-Identifier: Apache-2.0
// The entropy model of regularised contrastive learning (Tan, Rolland and Tian, "Regularized
// Contrastive Learning of Semantic Search", 2022, eq. 2): a contrastive loss with an entropy term
// that makes a text choose among the others of the batch (φ > 0) or find them alike (φ < 0). Models
// of several φ are the teachers of rcl.h.
//
//   p_ij = softmax_j(s · cos(q_i, ind_j))        over all columns j
//   CE_i = -log p_ii,   H_i = -Σ_{j ≠ i} p_ij log p_ij
//   loss = (1/m) Σ_i 1[y_i > t] · (CE_i + φ · H_i)
//
// q left, ind right; explicit negatives of every row are further columns, stacked as in bsc.h. The
// paper has s = 1 and no labels. Pairs with y_i <= t give no term, neither CE nor H, but stay a
// column for the others.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct RclEntropyOptions {
  double scale = 1.0;
  double phi = 0.01;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number; below 0 it may be for φ < 0. Groups are not looked at. Errors: as check_pair_input().
torch::Tensor rcl_entropy_loss(const LossInput& input, const RclEntropyOptions& options);

// s · cos(q_i, ind_j), [m, m + n·m]. Errors: as check_pair_input().
torch::Tensor rcl_scores(const LossInput& input, double scale);

LossRow rcl_entropy_row();  // its row in loss_table.h

}  // namespace simile
