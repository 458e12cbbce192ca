// SPDX-License-Identifier: Apache-2.0
// Mean squared error of the score: (1/m) Σ_i (c_i - y_i)², y in [0, 1], c_i the cosine of u_i and
// v_i or a head's number (pair_scores.h) (Reimers and Gurevych, "Sentence-BERT", 2019, section 3,
// regression objective).
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct MseOptions {
  void visit(OptionVisitor&) {}
};

// One number. Negatives and groups are not looked at. Errors: as pair_scores().
torch::Tensor mse_loss(const LossInput& input);

LossRow mse_row();  // its row in loss_table.h

}  // namespace simile
