// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/sum.h"

#include "simile/loss/detail/row_parts.h"

namespace simile {

LossRow sum_row() {
  return {"sum",
          "Σ w · L over the losses L in `of`, on the same embeddings",
          "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021",
          "several aims at once, such as bsc with pearson (section 7); every text is encoded once",
          "{name: sum, of: [{name: bsc, weight: 0.5}, mse]}",
          needs_of_terms,
          visit_terms,
          [](const LossOptions&, const LossInput& in, const LossContext& c) { return c.terms(in); },
          score_output,
          no_parts};
}

}  // namespace simile
