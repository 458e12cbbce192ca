// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/cosent.h"

#include <limits>

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/pair_scores.h"

namespace simile {

using torch::Tensor;

Tensor ordered_pairs_loss(const Tensor& scores, const Tensor& targets, double scale) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  const Tensor ordered = targets.unsqueeze(1) < targets.unsqueeze(0);
  const Tensor cells = (scale * (scores.unsqueeze(1) - scores.unsqueeze(0)))
                           .masked_fill(ordered.logical_not(), kMinusInfinity);
  // The 1 in the logarithm is exp of a cell that is always there.
  const Tensor top = cells.detach().amax().clamp_min(0);
  // Summed row by row: a sum over all cells at once would depend on the number of threads.
  return top + ((cells - top).exp().sum(1).sum() + (-top).exp()).log();
}

Tensor cosent_loss(const LossInput& input, const CosentOptions& options) {
  return ordered_pairs_loss(pair_scores(input), target_or_ones(input), options.scale);
}

LossRow cosent_row() {
  return {"cosent",
          "log(1 + Σ_{y_i < y_j} exp(s (c_i - c_j))), c_i = cos(u_i, v_i)",
          "Su, CoSENT, 2022",
          "graded pairs whose order matters and not the value of the score; targets of any scale",
          "{name: cosent, scale: 20}",
          [](const LossOptions&) { return ranked_pairs(scored_pairs()); },
          visit_own<CosentOptions>,
          [](const LossOptions& o, const LossInput& in, const LossContext&) {
            return cosent_loss(in, o.get<CosentOptions>());
          },
          score_output,
          no_parts};
}

}  // namespace simile
