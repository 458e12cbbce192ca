// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/mse.h"

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/pair_scores.h"

namespace simile {

torch::Tensor mse_loss(const LossInput& input) {
  return (pair_scores(input) - target_or_ones(input)).square().mean();
}

LossRow mse_row() {
  return {"mse",
          "(1/m) Σ_i (cos(u_i, v_i) - y_i)²",
          "Reimers and Gurevych, Sentence-BERT, 2019",
          "graded similarity, as in STS: the cosine should equal the target",
          "mse",
          [](const LossOptions&) { return scored_pairs(true); },
          visit_own<MseOptions>,
          [](const LossOptions&, const LossInput& in, const LossContext&) { return mse_loss(in); },
          score_output,
          no_parts};
}

}  // namespace simile
