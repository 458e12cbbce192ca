// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/bce.h"

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/pair_scores.h"

namespace simile {

torch::Tensor bce_loss(const LossInput& input, const BceOptions& options) {
  const torch::Tensor logits = single_logits(input, "bce");
  const torch::Tensor targets = target_or_ones(input).to(logits.scalar_type());
  const torch::Tensor positive = options.positive_weight * targets * torch::log_sigmoid(logits);
  const torch::Tensor negative = (1.0 - targets) * torch::log_sigmoid(-logits);
  return -(positive + negative).mean();
}

LossRow bce_row() {
  return {"bce",
          "(1/m) Σ_i [-w y_i log σ(z_i) - (1 - y_i) log σ(-z_i)], z_i the logit of a head",
          "Nogueira and Cho, Passage Re-ranking with BERT, 2019",
          "0/1 or graded pairs (or single texts) judged by a head, as in re-ranking and paraphrase "
          "detection",
          "bce",
          [](const LossOptions&) {
            LossNeeds needs = pairs(kRequired, kIgnored, true);
            needs.texts = TextNeed::kEither;
            needs.head = HeadNeed::kNumber;
            return needs;
          },
          visit_own<BceOptions>,
          [](const LossOptions& o, const LossInput& in, const LossContext&) {
            return bce_loss(in, o.get<BceOptions>());
          },
          head_output,
          no_parts};
}

}  // namespace simile
