// SPDX-License-Identifier: Apache-2.0
// Binary cross-entropy of a head's logit with the target, as for re-ranking (Nogueira and Cho,
// "Passage Re-ranking with BERT", 2019, eq. 1):
//
//   (1/m) Σ_i [ -w · y_i · log σ(z_i) - (1 - y_i) · log σ(-z_i) ]
//
// y in [0, 1], also between its ends; w: `positive_weight`. Computed without overflow.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct BceOptions {
  double positive_weight = 1.0;

  void visit(OptionVisitor& v) {
    v.field("positive_weight", positive_weight,
            {"how many times positives count; negatives per positive evens out the two", "", 0.0});
  }
};

// One number, of single texts or pairs. Only logits and targets are looked at. Errors: as
// check_loss_input(); kInput without logits [m, 1].
torch::Tensor bce_loss(const LossInput& input, const BceOptions& options);

LossRow bce_row();  // its row in loss_table.h

}  // namespace simile
