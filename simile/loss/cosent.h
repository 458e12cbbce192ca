// SPDX-License-Identifier: Apache-2.0
// CoSENT (Su, "CoSENT: a sentence embedding scheme more effective than Sentence-BERT", 2022): pairs
// with a higher target should have a higher score, whatever the value.
//
//   log(1 + Σ_{i, j: y_i < y_j} exp(s · (c_i - c_j)))
//
// c_i: the cosine of u_i and v_i or a head's number (pair_scores.h); y on any scale. One number for
// the batch, computed without overflow. A batch without two different targets gives 0 with zero
// gradients.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct CosentOptions {
  double scale = 20.0;

  void visit(OptionVisitor& v) {
    v.field("scale", scale, {"what differences of scores are multiplied by", "", 0.0});
  }
};

// One number. Negatives and groups are not looked at. Errors: as pair_scores().
torch::Tensor cosent_loss(const LossInput& input, const CosentOptions& options);

// The same of any scores [m] and targets [m].
torch::Tensor ordered_pairs_loss(const torch::Tensor& scores, const torch::Tensor& targets,
                                 double scale);

LossRow cosent_row();  // its row in loss_table.h

}  // namespace simile
