// SPDX-License-Identifier: Apache-2.0
// Global orthogonal regularisation (Zhang et al., "Learning Spread-out Local Feature Descriptors",
// 2017, section 3): texts that do not belong together should have cosines like random directions of
// the sphere, with mean 0 and second moment 1/D.
//
//   M1 = mean of cos(u_i, v_j), M2 = mean of cos(u_i, v_j)²     over i ≠ j
//   loss = M1² + relu(M2 - 1/D)
//
// A regulariser, to be added to a loss that brings pairs together. One pair gives 0.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct GlobalOrthogonalOptions {
  void visit(OptionVisitor&) {}
};

// One number. Only the embeddings of both sides are looked at. Errors: as check_pair_input().
torch::Tensor global_orthogonal_loss(const LossInput& input);

LossRow global_orthogonal_row();  // its row in loss_table.h

}  // namespace simile
