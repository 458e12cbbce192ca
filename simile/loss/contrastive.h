// SPDX-License-Identifier: Apache-2.0
// Contrastive loss (Hadsell, Chopra and LeCun, "Dimensionality Reduction by Learning an Invariant
// Mapping", 2006, eq. 4):
//
//   (1/m) Σ_i 1/2 · [ p_i · d_i² + (1 - p_i) · relu(margin - d_i)² ]
//
// d_i: the distance of u_i and v_i (row_distance()); p_i = 1[y_i > t].
#pragma once

#include <torch/types.h>

#include <string>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct ContrastiveOptions {
  std::string distance = "cosine";
  double margin = 0.5;
  double threshold = 0.5;

  void visit(OptionVisitor& v);
};

// One number. Negatives and groups are not looked at. Errors: as check_pair_input().
torch::Tensor contrastive_loss(const LossInput& input, const ContrastiveOptions& options);

LossRow contrastive_row();  // its row in loss_table.h

}  // namespace simile
