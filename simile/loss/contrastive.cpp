// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/contrastive.h"

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/similarity.h"

namespace simile {

void ContrastiveOptions::visit(OptionVisitor& v) {
  v.field("distance", distance,
          choice_info("distance of the two embeddings; cosine is 1 - cosine",
                      {"cosine", "euclidean", "manhattan"}));
  v.field("margin", margin,
          {"negative pairs should be at least so far apart, in units of the distance", "", 0.0});
  visit_threshold(v, threshold);
}

torch::Tensor contrastive_loss(const LossInput& input, const ContrastiveOptions& options) {
  check_pair_input(input);
  const torch::Tensor distances = row_distance(input.left, input.right, options.distance);
  const torch::Tensor is_positive = target_or_ones(input) > options.threshold;
  const torch::Tensor apart =
      torch::where(is_positive, distances, (options.margin - distances).relu());
  return apart.square().mean() / 2;
}

LossRow contrastive_row() {
  return {
      "contrastive",
      "(1/m) Σ_i ½ [p_i d(u_i, v_i)² + (1 - p_i) relu(margin - d(u_i, v_i))²], p_i = 1[y_i > t]",
      "Hadsell et al., Dimensionality Reduction by Learning an Invariant Mapping, 2006",
      "pairs labelled 0 or 1, when other texts of the batch are no safe negatives",
      "{name: contrastive, distance: cosine, margin: 0.5}",
      [](const LossOptions&) { return pairs(kRequired, kIgnored); },
      visit_own<ContrastiveOptions>,
      [](const LossOptions& o, const LossInput& in, const LossContext&) {
        return contrastive_loss(in, o.get<ContrastiveOptions>());
      },
      score_output,
      threshold_parts<ContrastiveOptions>};
}

}  // namespace simile
