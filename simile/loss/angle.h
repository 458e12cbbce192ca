// SPDX-License-Identifier: Apache-2.0
// AnglE (Li and Li, "AnglE-optimized Text Embeddings", 2023, eq. 4-7, angle objective): the loss of
// cosent.h with a score of the angle between the embeddings as complex vectors, which does not
// flatten near its ends as the cosine does.
//
//   u = [a; b], v = [c; d]: real and imaginary halves; an odd D is filled up with one zero
//   score = |Σ_k (a_k c_k + b_k d_k + b_k c_k - a_k d_k)| / (|u| · |v|)
//
// A zero embedding has score 0 with zero gradient.
#pragma once

#include <torch/types.h>

#include "simile/core/options.h"
#include "simile/loss/loss_input.h"

namespace simile {

struct LossRow;

struct AngleOptions {
  double scale = 20.0;

  void visit(OptionVisitor& v) {
    v.field("scale", scale, {"what differences of scores are multiplied by", "", 0.0});
  }
};

// One number. Negatives and groups are not looked at. Errors: as check_pair_input().
torch::Tensor angle_loss(const LossInput& input, const AngleOptions& options);

// The score of matching rows of u and v, both [m, D]: [m].
torch::Tensor angle_scores(const torch::Tensor& u, const torch::Tensor& v);

LossRow angle_row();  // its row in loss_table.h

}  // namespace simile
