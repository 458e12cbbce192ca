// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/rcl_entropy.h"

#include "simile/loss/bsc.h"
#include "simile/loss/detail/row_parts.h"

namespace simile {

using torch::Tensor;

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

LossRow rcl_entropy_row() {
  return {
      "rcl_entropy",
      "(1/m) Σ_i 1[y_i > t] [-log p_ii - φ Σ_{j ≠ i} p_ij log p_ij], p_ij = softmax_j(s cos(u_i, "
      "v_j))",
      "Tan et al., Regularized Contrastive Learning of Semantic Search, 2022",
      "the models that rcl takes as teachers, one for each phi (0.01 to 0.05)",
      "{name: rcl_entropy, phi: 0.01}",
      [](const LossOptions&) { return batch_pairs(kOptional, kOptional); },
      visit_own<RclEntropyOptions>,
      [](const LossOptions& o, const LossInput& in, const LossContext&) {
        return rcl_entropy_loss(in, o.get<RclEntropyOptions>());
      },
      [](const LossOptions& o, const LossInput& in, const LossContext&) {
        return row_output(rcl_scores(in, o.get<RclEntropyOptions>().scale));
      },
      threshold_parts<RclEntropyOptions>};
}

}  // namespace simile
