// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/rcl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/loss/bsc.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/similarity.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

using torch::Tensor;

void check_teachers(const LossInput& input) {
  SIMILE_CHECK(
      !input.left_teachers.empty(), ErrorKind::kInput,
      "loss: rcl needs the vectors frozen models gave both sides, and there are none; give "
      "the objective teachers or choose a loss without");
  SIMILE_CHECK(input.left_teachers.size() == input.right_teachers.size(), ErrorKind::kInput,
               fmt::format("loss: rcl needs every teacher's vectors of both sides, found {} for "
                           "the left and {} for the right",
                           input.left_teachers.size(), input.right_teachers.size()));
  for (const auto* side : {&input.left_teachers, &input.right_teachers}) {
    for (const Tensor& teacher : *side) {
      SIMILE_CHECK(
          teacher.sizes() == input.left.sizes(), ErrorKind::kInput,
          fmt::format("loss: rcl compares texts with their teachers' vectors, which should be [{}] "
                      "like them, found [{}]; choose a teacher with vectors of that size",
                      fmt::join(input.left.sizes(), ", "), fmt::join(teacher.sizes(), ", ")));
    }
  }
}

// The mean of -log softmax_k(s · cos(x_i, a_k))_i over i.
Tensor regulariser(const Tensor& x, const Tensor& teacher, double scale) {
  const Tensor frozen = teacher.detach().to(x.options());
  const Tensor scores =
      inner_products(normalize_embeddings(x, "l2"), normalize_embeddings(frozen, "l2")) * scale;
  return -scores.log_softmax(1).diagonal().mean();
}

LossNeeds rcl_needs(Requirement teachers) {
  LossNeeds needs = batch_pairs(kOptional, kOptional);
  needs.teachers = teachers;
  needs.duplicates_are_negatives = true;
  return needs;
}

}  // namespace

void RclEntropyOptions::visit(OptionVisitor& v) {
  v.field("scale", scale, {"what cosines are multiplied by (1 / temperature)", "", 0.0});
  v.field(
      "phi", phi,
      {"weight of the entropy of the other texts: above 0 sharpens them, below 0 evens them out",
       "", -1e6, 1e6});
  visit_threshold(v, threshold);
}

Tensor rcl_scores(const LossInput& input, double scale) {
  BscOptions cosine;
  cosine.normalize = "l2";
  return bsc_scores(input, cosine, torch::full({}, scale, input.left.options()));
}

Tensor rcl_entropy_loss(const LossInput& input, const RclEntropyOptions& options) {
  const Tensor log_p = rcl_scores(input, options.scale).log_softmax(1);
  const Tensor own = torch::eye(log_p.size(0), log_p.size(1), log_p.options()).to(torch::kBool);
  const Tensor entropy = -(log_p.exp() * log_p).masked_fill(own, 0.0).sum(1);
  const Tensor terms = options.phi * entropy - log_p.diagonal();
  const Tensor is_positive = target_or_ones(input) > options.threshold;
  return torch::where(is_positive, terms, torch::zeros_like(terms)).mean();
}

void RclOptions::visit(OptionVisitor& v) {
  v.field("scale", scale, {"what cosines are multiplied by (1 / temperature)", "", 0.0});
  visit_threshold(v, threshold);
}

Tensor rcl_loss(const LossInput& input, const RclOptions& options) {
  check_pair_input(input);
  check_teachers(input);
  BscOptions rows;
  rows.directions = "left";
  rows.threshold = options.threshold;
  Tensor loss = bsc_loss_of_scores(rcl_scores(input, options.scale), input, rows);
  for (size_t n = 0; n < input.left_teachers.size(); ++n) {
    loss = loss + regulariser(input.left, input.left_teachers[n], options.scale) +
           regulariser(input.right, input.right_teachers[n], options.scale);
  }
  return loss;
}

std::vector<LossRow> rcl_rows() {
  return {
      {"rcl_entropy",
       "(1/m) Σ_i 1[y_i > t] [-log p_ii - φ Σ_{j ≠ i} p_ij log p_ij], p_ij = softmax_j(s cos(u_i, "
       "v_j))",
       "Tan et al., Regularized Contrastive Learning of Semantic Search, 2022",
       "the models that rcl takes as teachers, one for each phi (0.01 to 0.05)",
       "{name: rcl_entropy, phi: 0.01}", [](const LossOptions&) { return rcl_needs(kIgnored); },
       visit_own<RclEntropyOptions>, compute_own<RclEntropyOptions, rcl_entropy_loss>,
       [](const LossOptions& o, const LossInput& in, const LossContext&) {
         return row_output(rcl_scores(in, o.get<RclEntropyOptions>().scale));
       },
       threshold_parts<RclEntropyOptions>},
      {"rcl",
       "(1/m) Σ_i [1[y_i > t] CE(u_i, v) + Σ_n CE(u_i, Au^n) + Σ_n CE(v_i, Av^n)], CE(x_i, a) = "
       "-log softmax_k(s cos(x_i, a_k))_i, Au^n and Av^n vectors of frozen models",
       "Tan et al., Regularized Contrastive Learning of Semantic Search, 2022",
       "search on pairs that few steps overfit: train two to five rcl_entropy models of different "
       "phi first, and give them as teachers",
       "{name: rcl, scale: 1}", [](const LossOptions&) { return rcl_needs(kRequired); },
       visit_own<RclOptions>, compute_own<RclOptions, rcl_loss>,
       [](const LossOptions& o, const LossInput& in, const LossContext&) {
         return row_output(rcl_scores(in, o.get<RclOptions>().scale));
       },
       threshold_parts<RclOptions>}};
}

}  // namespace simile
