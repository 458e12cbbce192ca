// SPDX-License-Identifier: Apache-2.0
// Regularised contrastive learning (Tan, Rolland and Tian, "Regularized Contrastive Learning of
// Semantic Search", 2022): models of an entropy loss, and the loss that takes them as teachers.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

// The entropy model of regularised contrastive learning (Tan, Rolland and Tian, "Regularized
// Contrastive Learning of Semantic Search", 2022, eq. 2): a contrastive loss with an entropy term
// that makes a text choose among the others of the batch (φ > 0) or find them alike (φ < 0). Models
// of several φ are the teachers of rcl_loss().
//
//   p_ij = softmax_j(s · cos(q_i, ind_j))        over all columns j
//   CE_i = -log p_ii,   H_i = -Σ_{j ≠ i} p_ij log p_ij
//   loss = (1/m) Σ_i 1[y_i > t] · (CE_i + φ · H_i)
//
// q left, ind right; explicit negatives of every row are further columns, stacked as in bsc.h. The
// paper has s = 1 and no labels. Pairs with y_i <= t give no term, neither CE nor H, but stay a
// column for the others.
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

// Regularised contrastive learning (Tan, Rolland and Tian, "Regularized Contrastive Learning of
// Semantic Search", 2022, eq. 3): every text should also find, among the vectors that frozen models
// (of rcl_entropy_loss()) gave the texts of its side, its own.
//
//   CE_i  = -log softmax_k(s · cos(q_i, ind_k))_i                      over all columns, if y_i > t
//   Rq_i  = Σ_n -log softmax_k(s · cos(q_i, Aq^n_k))_i                 over the m texts of the side
//   Ri_i  = Σ_n -log softmax_k(s · cos(ind_i, Aind^n_k))_i
//   loss  = (1/m) Σ_i (CE_i + Rq_i + Ri_i)
//
// q left, ind right, Aq^n = left_teachers[n], Aind^n = right_teachers[n], which get no gradient.
// Explicit negatives are further columns in CE alone. Pairs with y_i <= t have no CE, but both
// regularisers: what a text means does not depend on the label of its pair.
struct RclOptions {
  double scale = 1.0;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number. Groups are not looked at. Errors: as check_pair_input(); kInput without teachers,
// with another number of them for the right side than for the left, or with vectors that are not
// [m, D].
torch::Tensor rcl_loss(const LossInput& input, const RclOptions& options);

}  // namespace simile
