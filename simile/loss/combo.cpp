// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/combo.h"

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/mse.h"

namespace simile {

torch::Tensor combo_loss(const LossInput& input, const ComboOptions& options,
                         const torch::Tensor& scale) {
  if (options.mu == 0.0) return mse_loss(input);
  const torch::Tensor bsc = bsc_loss(input, options.bsc, scale);
  if (options.mu == 1.0) return bsc;
  return options.mu * bsc + (1.0 - options.mu) * mse_loss(input);
}

LossRow combo_row() {
  return {
      "combo",
      "μ · bsc + (1 - μ) · mse",
      "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021",
      "graded or 0/1 pairs, when both the order of candidates and the value of the score matter",
      "{name: combo, mu: 0.1, temperature: 0.1}",
      [](const LossOptions& o) {
        LossNeeds needs = pairs(kRequired, kOptional, true);
        needs.classes = batch_pairs(o.get<ComboOptions>().bsc.same_class).classes;
        return needs;
      },
      visit_own<ComboOptions>,
      [](const LossOptions& o, const LossInput& in, const LossContext& c) {
        return combo_loss(in, o.get<ComboOptions>(), c.scale);
      },
      [](const LossOptions& o, const LossInput& in, const LossContext& c) {
        return row_output(bsc_scores(in, o.get<ComboOptions>().bsc, c.scale));
      },
      [](const LossOptions& o) { return bsc_parts(o.get<ComboOptions>().bsc); }};
}

}  // namespace simile
