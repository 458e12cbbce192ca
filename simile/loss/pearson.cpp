// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/pearson.h"

#include <limits>

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/pair_scores.h"
#include "simile/loss/similarity.h"

namespace simile {
namespace {

using torch::Tensor;

// How many roundings of its numbers a vector may be from its mean and still count as constant.
constexpr double kRoundings = 8.0;

double rounding(const Tensor& values) {
  return values.scalar_type() == torch::kDouble ? std::numeric_limits<double>::epsilon()
                                                : std::numeric_limits<float>::epsilon();
}

// values - mean as one row [1, m]; zeros without gradient when only rounding is left, which a
// division by its length would blow up.
Tensor deviations(const Tensor& values) {
  const Tensor centred = values - values.mean();
  const Tensor differ = centred.norm() > kRoundings * rounding(values) * values.norm();
  return torch::where(differ, centred, torch::zeros_like(centred)).unsqueeze(0);
}

}  // namespace

Tensor pearson_loss(const LossInput& input) {
  const Tensor scores = pair_scores(input);
  const Tensor targets = target_or_ones(input).to(scores.scalar_type());
  return 1.0 - row_cosine(deviations(scores), deviations(targets)).squeeze(0);
}

LossRow pearson_row() {
  return {
      "pearson",
      "1 - r(c, y), Pearson's correlation of c_i = cos(u_i, v_i) and y_i over the batch",
      "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021",
      "graded similarity judged by correlation, as in STS, with batches of 16 pairs and more; "
      "targets of any scale",
      "pearson",
      [](const LossOptions&) { return ranked_pairs(scored_pairs()); },
      visit_own<PearsonOptions>,
      [](const LossOptions&, const LossInput& in, const LossContext&) { return pearson_loss(in); },
      score_output,
      no_parts};
}

}  // namespace simile
