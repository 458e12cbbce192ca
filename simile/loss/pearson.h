// SPDX-License-Identifier: Apache-2.0
// One minus Pearson's correlation of scores and targets over the batch ("Batch-Softmax
// Contrastive Loss for Pairwise Sentence Scoring Tasks", 2021, section 7):
//
//   1 - Σ_i (c_i - mean c) (y_i - mean y) / (|c - mean c| · |y - mean y|)
//
// c_i: the cosine of u_i and v_i or a head's number (pair_scores.h); y_i on any scale. Between 0
// and 2. Scores or targets that differ by no more than rounding (and so m = 1) have no correlation:
// the loss is 1 with zero gradients.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct PearsonOptions {
  void visit(OptionVisitor&) {}
};

// One number. Negatives and groups are not looked at. Errors: as pair_scores().
torch::Tensor pearson_loss(const LossInput& input);

LossRow pearson_row();  // its row in loss_table.h

}  // namespace simile
