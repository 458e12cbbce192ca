// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/head_losses.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/similarity.h"

namespace simile {
namespace {

using torch::Tensor;

void check_classification(const LossInput& input) {
  check_loss_input(input);
  const int64_t m = input.left.size(0);
  SIMILE_CHECK(
      input.logits.defined() && input.logits.dim() == 2 && input.logits.size(0) == m,
      ErrorKind::kInput,
      fmt::format("loss: softmax_classification needs the logits of a head, [{}, classes], and "
                  "there are none of that shape; give the objective a head",
                  m));
  SIMILE_CHECK(input.classes.defined() && input.classes.dim() == 1 && input.classes.size(0) == m,
               ErrorKind::kInput,
               "loss: softmax_classification needs classes, one for each row of the batch, and "
               "there are none; use data with classes or choose a loss on targets");
  const int64_t k = input.logits.size(1), low = input.classes.min().item<int64_t>(),
                high = input.classes.max().item<int64_t>();
  SIMILE_CHECK(low >= 0 && high < k, ErrorKind::kInput,
               fmt::format("loss: softmax_classification has a head of {} classes, 0 to {}, and "
                           "found class {}; give the head as many outputs as the data has classes",
                           k, k - 1, low < 0 ? low : high));
}

}  // namespace

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

std::vector<LossRow> head_loss_rows() {
  return {
      {"bce", "(1/m) Σ_i [-w y_i log σ(z_i) - (1 - y_i) log σ(-z_i)], z_i the logit of a head",
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
