// SPDX-License-Identifier: Apache-2.0
// The rows of losses (loss.h), and the parts that they are made from.
#pragma once

#include "simile/loss/bsc.h"
#include "simile/loss/loss.h"

namespace simile {

// The rows of each room of losses, which loss_table() puts together.
std::vector<LossRow> bsc_rows();
std::vector<LossRow> combined_rows();
std::vector<LossRow> graded_rows();
std::vector<LossRow> margin_rows();
std::vector<LossRow> teacher_rows();

inline constexpr Requirement kIgnored = Requirement::kIgnored;
inline constexpr Requirement kOptional = Requirement::kOptional;
inline constexpr Requirement kRequired = Requirement::kRequired;

// Needs of losses on pairs.
LossNeeds pairs(Requirement target, Requirement negatives, bool unit_target = false);

// Needs of losses that compare the texts of a pair with those of other pairs in the batch.
LossNeeds batch_pairs(Requirement target, Requirement negatives);

// Needs of bsc and its kin: scores and negatives are optional; masking by class needs classes.
LossNeeds batch_pairs(const std::string& same_class);

// `needs` of a loss that compares pairs of different targets.
LossNeeds ranked_pairs(LossNeeds needs);

// Needs of losses that compare a score of each pair, cosine or a head's number, with its target.
LossNeeds scored_pairs(bool unit_target = false);

// Needs of losses composed of those in `of`. Errors (kRecipe): `of` is empty.
LossNeeds needs_of_terms(const LossOptions& options);

// How a row is computed whose function takes its own options, or none.
template <typename Options, torch::Tensor (*loss)(const LossInput&, const Options&)>
torch::Tensor compute_own(const LossOptions& options, const LossInput& input, const LossContext&) {
  return loss(input, options.get<Options>());
}
template <torch::Tensor (*loss)(const LossInput&)>
torch::Tensor compute_plain(const LossOptions&, const LossInput& input, const LossContext&) {
  return loss(input);
}

inline void visit_nothing(LossOptions&, OptionVisitor&) {}
template <typename Options>
void visit_own(LossOptions& options, OptionVisitor& v) {
  options.get<Options>().visit(v);
}

void visit_terms(LossOptions& options, OptionVisitor& v);

// Options that several losses have.
void visit_threshold(OptionVisitor& v, double& threshold);
void visit_duplicates(OptionVisitor& v, std::string& duplicates);
void visit_same_class(OptionVisitor& v, std::string& same_class);

// The outputs that smoothness is measured on: scores as the logits of a softmax over each row; a
// head's logits; the score of each pair, or for single texts their cosines in the batch.
SmoothOutput row_output(const torch::Tensor& scores);
SmoothOutput head_output(const LossOptions&, const LossInput& input, const LossContext&);
SmoothOutput score_output(const LossOptions&, const LossInput& input, const LossContext&);

LossParts no_parts(const LossOptions& options);

// The parts of bsc, and of losses whose options have those of bsc as `bsc`.
LossParts parts_of_bsc(const BscOptions& options);
inline const BscOptions& bsc_of(const BscOptions& options) { return options; }
template <typename Options>
const BscOptions& bsc_of(const Options& options) {
  return options.bsc;
}
template <typename Options>
LossParts bsc_parts(const LossOptions& options) {
  return parts_of_bsc(bsc_of(options.get<Options>()));
}
template <typename Options>
torch::Tensor compute_bsc(const LossOptions& o, const LossInput& input, const LossContext& c) {
  return bsc_loss(input, bsc_of(o.get<Options>()), c.scale);
}
template <typename Options>
SmoothOutput bsc_output(const LossOptions& o, const LossInput& input, const LossContext& c) {
  return row_output(bsc_scores(input, bsc_of(o.get<Options>()), c.scale));
}

template <typename Options>
LossParts threshold_parts(const LossOptions& options) {
  LossParts parts;
  parts.threshold = &options.get<Options>().threshold;
  return parts;
}

}  // namespace simile
