// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/graded.h"

#include <limits>

#include "simile/loss/detail/row_parts.h"
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

Tensor mse_loss(const LossInput& input) {
  return (pair_scores(input) - target_or_ones(input)).square().mean();
}

Tensor pearson_loss(const LossInput& input) {
  const Tensor scores = pair_scores(input);
  const Tensor targets = target_or_ones(input).to(scores.scalar_type());
  return 1.0 - row_cosine(deviations(scores), deviations(targets)).squeeze(0);
}

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

std::vector<LossRow> graded_rows() {
  return {
      {"mse", "(1/m) Σ_i (cos(u_i, v_i) - y_i)²", "Reimers and Gurevych, Sentence-BERT, 2019",
       "graded similarity, as in STS: the cosine should equal the target", "mse",
       [](const LossOptions&) { return scored_pairs(true); }, visit_nothing,
       compute_plain<mse_loss>, score_output, no_parts},
      {"pearson",
       "1 - r(c, y), Pearson's correlation of c_i = cos(u_i, v_i) and y_i over the batch",
       "Batch-Softmax Contrastive Loss for Pairwise Sentence Scoring Tasks, 2021",
       "graded similarity judged by correlation, as in STS, with batches of 16 pairs and more; "
       "targets of any scale",
       "pearson", [](const LossOptions&) { return ranked_pairs(scored_pairs()); }, visit_nothing,
       compute_plain<pearson_loss>, score_output, no_parts},
      {"cosent", "log(1 + Σ_{y_i < y_j} exp(s (c_i - c_j))), c_i = cos(u_i, v_i)",
       "Su, CoSENT, 2022",
       "graded pairs whose order matters and not the value of the score; targets of any scale",
       "{name: cosent, scale: 20}", [](const LossOptions&) { return ranked_pairs(scored_pairs()); },
       visit_own<CosentOptions>, compute_own<CosentOptions, cosent_loss>, score_output, no_parts},
      {"angle",
       "log(1 + Σ_{y_i < y_j} exp(s (a_i - a_j))), a_i the angle score of u_i and v_i as complex "
       "vectors",
       "Li and Li, AnglE-optimized Text Embeddings, 2023",
       "graded pairs whose order matters, like cosent, when many cosines are near 1 or -1, where "
       "the cosine has hardly a gradient",
       "{name: angle, scale: 20}",
       [](const LossOptions&) { return ranked_pairs(pairs(kRequired, kIgnored)); },
       visit_own<AngleOptions>, compute_own<AngleOptions, angle_loss>, score_output, no_parts}};
}

}  // namespace simile
