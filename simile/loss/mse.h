// SPDX-License-Identifier: Apache-2.0
// Mean squared error of the cosine: (1/m) Σ_i (cos(u_i, v_i) - y_i)², y in [0, 1] (Reimers and
// Gurevych, "Sentence-BERT", 2019, section 3, regression objective).
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct MseOptions {
  void visit(OptionVisitor&) {}
};

// One number. Negatives and groups are not looked at. Errors: as check_loss_input().
torch::Tensor mse_loss(const LossInput& input);

}  // namespace simile
