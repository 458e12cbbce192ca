// SPDX-License-Identifier: Apache-2.0
// Regularised contrastive learning (Tan, Rolland and Tian, "Regularized Contrastive Learning of
// Semantic Search", 2022, eq. 3): every text should also find, among the vectors that frozen models
// (rcl_entropy.h) gave the texts of its side, its own.
//
//   CE_i  = -log softmax_k(s · cos(q_i, ind_k))_i                      over all columns, if y_i > t
//   Rq_i  = Σ_n -log softmax_k(s · cos(q_i, Aq^n_k))_i                 over the m texts of the side
//   Ri_i  = Σ_n -log softmax_k(s · cos(ind_i, Aind^n_k))_i
//   loss  = (1/m) Σ_i (CE_i + Rq_i + Ri_i)
//
// q left, ind right, Aq^n = left_teachers[n], Aind^n = right_teachers[n], which get no gradient.
// Explicit negatives are further columns in CE alone. Pairs with y_i <= t have no CE, but both
// regularisers: what a text means does not depend on the label of its pair.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct RclOptions {
  double scale = 1.0;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number. Groups are not looked at. Errors: as check_pair_input(); kInput without teachers,
// with another number of them for the right side than for the left, or with vectors that are not
// [m, D].
torch::Tensor rcl_loss(const LossInput& input, const RclOptions& options);

LossRow rcl_row();  // its row in loss_table.h

}  // namespace simile
