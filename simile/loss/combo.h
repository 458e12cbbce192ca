// SPDX-License-Identifier: Apache-2.0
// μ·bsc + (1 - μ)·mse on the same embeddings (BSC-loss, eq. 6).
#pragma once

#include <torch/types.h>

#include "simile/loss/bsc.h"

namespace simile {

struct LossRow;

struct ComboOptions {
  double mu = 0.1;
  BscOptions bsc;  // its options stand beside mu in a recipe

  void visit(OptionVisitor& v) {
    v.field("mu", mu, {"share of bsc; mse has the rest", "", 0.0, 1.0});
    bsc.visit(v);
  }
};

// One number; `scale` as in bsc_loss(). A part of weight 0 is not computed. Errors: as bsc_loss().
torch::Tensor combo_loss(const LossInput& input, const ComboOptions& options,
                         const torch::Tensor& scale = {});

LossRow combo_row();  // its row in loss_table.h

}  // namespace simile
