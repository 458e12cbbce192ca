// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/simcse.h"

#include "simile/loss/detail/row_parts.h"

namespace simile {

LossRow simcse_row() {
  return {"simcse",
          "-(1/m) Σ_i 1[y_i > t] log softmax_j(cos(u_i, v_j) / τ)_i, v_i the same text under "
          "another dropout mask, or an entailed one",
          "Gao et al., SimCSE: Simple Contrastive Learning of Sentence Embeddings, 2021",
          "texts without labels (both columns the same, a model with dropout), or entailed texts "
          "with contradicting ones as negatives",
          "{name: simcse, temperature: 0.05}",
          [](const LossOptions& o) { return batch_pairs(o.get<SimcseOptions>().bsc.same_class); },
          visit_own<SimcseOptions>,
          [](const LossOptions& o, const LossInput& in, const LossContext& c) {
            return bsc_loss(in, o.get<SimcseOptions>().bsc, c.scale);
          },
          [](const LossOptions& o, const LossInput& in, const LossContext& c) {
            return row_output(bsc_scores(in, o.get<SimcseOptions>().bsc, c.scale));
          },
          [](const LossOptions& o) { return bsc_parts(o.get<SimcseOptions>().bsc); }};
}

}  // namespace simile
