// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/angle.h"

#include "simile/loss/cosent.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/normalize.h"

namespace simile {

using torch::Tensor;

Tensor angle_scores(const Tensor& u, const Tensor& v) {
  const auto complex_parts = [](const Tensor& x) {
    const Tensor unit = normalize_embeddings(x, "l2");
    const bool odd = unit.size(1) % 2 != 0;
    return (odd ? torch::cat({unit, unit.new_zeros({unit.size(0), 1})}, 1) : unit).chunk(2, 1);
  };
  const auto left = complex_parts(u), right = complex_parts(v);
  const Tensor &a = left[0], &b = left[1], &c = right[0], &d = right[1];
  return (a * c + b * d + b * c - a * d).sum(1).abs();
}

Tensor angle_loss(const LossInput& input, const AngleOptions& options) {
  check_pair_input(input);
  return ordered_pairs_loss(angle_scores(input.left, input.right), target_or_ones(input),
                            options.scale);
}

LossRow angle_row() {
  return {
      "angle",
      "log(1 + Σ_{y_i < y_j} exp(s (a_i - a_j))), a_i the angle score of u_i and v_i as complex "
      "vectors",
      "Li and Li, AnglE-optimized Text Embeddings, 2023",
      "graded pairs whose order matters, like cosent, when many cosines are near 1 or -1, where "
      "the cosine has hardly a gradient",
      "{name: angle, scale: 20}",
      [](const LossOptions&) { return ranked_pairs(pairs(kRequired, kIgnored)); },
      visit_own<AngleOptions>,
      [](const LossOptions& o, const LossInput& in, const LossContext&) {
        return angle_loss(in, o.get<AngleOptions>());
      },
      score_output,
      no_parts};
}

}  // namespace simile
