// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/detail/row_parts.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/loss/bsc.h"
#include "simile/loss/similarity.h"
#include "simile/nn/row_products.h"

namespace simile {

LossNeeds pairs(Requirement target, Requirement negatives, bool unit_target) {
  LossNeeds needs;
  needs.target = target;
  needs.negatives = negatives;
  needs.unit_target = unit_target;
  return needs;
}

LossNeeds batch_pairs(Requirement target, Requirement negatives) {
  LossNeeds needs = pairs(target, negatives);
  needs.compares = Compares::kOtherTexts;
  needs.keeps_apart = true;
  return needs;
}

LossNeeds batch_pairs(const std::string& same_class) {
  LossNeeds needs = batch_pairs(kOptional, kOptional);
  if (same_class == "mask") needs.classes = kRequired;
  return needs;
}

LossNeeds ranked_pairs(LossNeeds needs) {
  needs.compares = Compares::kOtherTargets;
  return needs;
}

LossNeeds scored_pairs(bool unit_target) {
  LossNeeds needs = pairs(kRequired, kIgnored, unit_target);
  needs.head = HeadNeed::kNumberIfGiven;
  return needs;
}

LossNeeds needs_of_terms(const LossOptions& options) {
  SIMILE_CHECK(
      !options.of.empty(), ErrorKind::kRecipe,
      fmt::format("loss '{}' is made of others and has no `of`; name at least one, such as "
                  "of: bsc",
                  options.name));
  LossNeeds needs = find_loss(options.of[0].name).needs(options.of[0]);
  for (const LossTerm& term : options.of) needs = needs | find_loss(term.name).needs(term);
  return needs;
}

void visit_terms(LossOptions& options, OptionVisitor& v) {
  v.list("of", options.of, "the losses, each with its options and a weight");
}

void visit_threshold(OptionVisitor& v, double& threshold) {
  v.field("threshold", threshold, {"pairs with a target above it are positive, the rest negative"});
}

void visit_duplicates(OptionVisitor& v, std::string& duplicates) {
  v.field(
      "duplicates", duplicates,
      choice_info("texts that occur several times in a batch: positives of each other, left out "
                  "of the denominator, or negatives like any other",
                  {"positives", "mask", "negatives"}));
}

void visit_same_class(OptionVisitor& v, std::string& same_class) {
  v.field(
      "same_class", same_class,
      choice_info("texts of other pairs of the batch that have the same class (data of `format: "
                  "classes`): negatives like any other, or left out of the denominator",
                  {"negatives", "mask"}));
}

LossParts no_parts(const LossOptions&) { return {}; }

LossParts bsc_parts(const BscOptions& options) {
  return {&options.temperature, &options.normalize, &options.threshold, &options.duplicates,
          &options.same_class};
}

// A softmax over one column says nothing, whatever its score.
SmoothOutput row_output(const torch::Tensor& scores) {
  if (scores.size(1) == 1) return {scores.squeeze(1) * 0.0, false};
  return {scores, true};
}

SmoothOutput head_output(const LossOptions&, const LossInput& input, const LossContext&) {
  return {input.logits, true};
}

SmoothOutput score_output(const LossOptions&, const LossInput& input, const LossContext&) {
  if (input.logits.defined() || input.right.defined()) return {pair_scores(input), false};
  const torch::Tensor unit = normalize_embeddings(input.left, "l2");
  return {inner_products(unit, unit), false};
}

}  // namespace simile
