// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/graded.h"

#include <limits>

#include "simile/core/check.h"
#include "simile/loss/detail/row_parts.h"

namespace simile {
namespace {

using torch::Tensor;

// How many roundings of its numbers a vector may be from its mean and still count as constant.
constexpr double kRoundings = 8.0;

// values - mean as one row [1, m]; zeros without gradient when only rounding is left, which a
// division by its length would blow up.
Tensor deviations(const Tensor& values) {
  const Tensor centred = values - values.mean();
  const double rounding = values.scalar_type() == torch::kDouble
                              ? std::numeric_limits<double>::epsilon()
                              : std::numeric_limits<float>::epsilon();
  const Tensor differ = centred.norm() > kRoundings * rounding * values.norm();
  return torch::where(differ, centred, torch::zeros_like(centred)).unsqueeze(0);
}

void check_classification(const LossInput& input) {
  check_loss_input(input);
  const int64_t m = input.left.size(0);
  SIMILE_CHECK(input.logits.defined() && input.logits.dim() == 2 && input.logits.size(0) == m,
               ErrorKind::kInput,
               "loss: softmax_classification needs the logits of a head, [{}, classes], and "
               "there are none of that shape; give the objective a head",
               m);
  SIMILE_CHECK(input.classes.defined() && input.classes.dim() == 1 && input.classes.size(0) == m,
               ErrorKind::kInput,
               "loss: softmax_classification needs classes, one for each row of the batch, and "
               "there are none; use data with classes or choose a loss on targets");
  const int64_t k = input.logits.size(1), low = input.classes.min().item<int64_t>(),
                high = input.classes.max().item<int64_t>();
  SIMILE_CHECK(low >= 0 && high < k, ErrorKind::kInput,
               "loss: softmax_classification has a head of {} classes, 0 to {}, and "
               "found class {}; give the head as many outputs as the data has classes",
               k, k - 1, low < 0 ? low : high);
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

Tensor bce_loss(const LossInput& input, const BceOptions& options) {
  const Tensor logits = single_logits(input, "bce");
  const Tensor targets = target_or_ones(input).to(logits.scalar_type());
  const Tensor positive = options.positive_weight * targets * torch::log_sigmoid(logits);
  const Tensor negative = (1.0 - targets) * torch::log_sigmoid(-logits);
  return -(positive + negative).mean();
}

Tensor softmax_classification_loss(const LossInput& input,
                                   const SoftmaxClassificationOptions& options) {
  check_classification(input);
  const Tensor log_p = input.logits.log_softmax(1);
  const Tensor classes = input.classes.to(log_p.device(), torch::kInt64);
  const Tensor own = log_p.gather(1, classes.unsqueeze(1)).squeeze(1);
  if (options.label_smoothing == 0.0) return -own.mean();
  const double share = options.label_smoothing;
  return -((1.0 - share) * own + share * log_p.mean(1)).mean();
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
       "the same pairs as cosent, when many cosines are near 1 or -1, where the cosine has almost "
       "no gradient",
       "{name: angle, scale: 20}",
       [](const LossOptions&) { return ranked_pairs(pairs(kRequired, kIgnored)); },
       visit_own<AngleOptions>, compute_own<AngleOptions, angle_loss>, score_output, no_parts},
      {"bce", "(1/m) Σ_i [-w y_i log σ(z_i) - (1 - y_i) log σ(-z_i)], z_i the logit of a head",
       "Nogueira and Cho, Passage Re-ranking with BERT, 2019",
       "0/1 or graded pairs or texts judged by a head: re-ranking, paraphrase detection", "bce",
       [](const LossOptions&) {
         LossNeeds needs = pairs(kRequired, kIgnored, true);
         needs.texts = TextNeed::kEither;
         needs.head = HeadNeed::kNumber;
         return needs;
       },
       visit_own<BceOptions>, compute_own<BceOptions, bce_loss>, head_output, no_parts},
      {"softmax_classification", "-(1/m) Σ_i log softmax(z_i)_{class i}, z_i the logits of a head",
       "Reimers and Gurevych, Sentence-BERT, 2019",
       "pairs or single texts with a class each, as in NLI, sentiment or topics",
       "softmax_classification",
       [](const LossOptions&) {
         LossNeeds needs;
         needs.texts = TextNeed::kEither;
         needs.classes = kRequired;
         needs.head = HeadNeed::kClasses;
         return needs;
       },
       visit_own<SoftmaxClassificationOptions>,
       compute_own<SoftmaxClassificationOptions, softmax_classification_loss>, head_output,
       no_parts}};
}

}  // namespace simile
