// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/rcl.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/loss/bsc.h"
#include "simile/loss/detail/row_parts.h"
#include "simile/loss/normalize.h"
#include "simile/loss/rcl_entropy.h"
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

}  // namespace

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

LossRow rcl_row() {
  return {
      "rcl",
      "(1/m) Σ_i [1[y_i > t] CE(u_i, v) + Σ_n CE(u_i, Au^n) + Σ_n CE(v_i, Av^n)], CE(x_i, a) = "
      "-log softmax_k(s cos(x_i, a_k))_i, Au^n and Av^n vectors of frozen models",
      "Tan et al., Regularized Contrastive Learning of Semantic Search, 2022",
      "search on pairs that few steps overfit: train two to five rcl_entropy models of different "
      "phi first, and give them as teachers",
      "{name: rcl, scale: 1}",
      [](const LossOptions&) {
        LossNeeds needs = batch_pairs(kOptional, kOptional);
        needs.teachers = kRequired;
        return needs;
      },
      visit_own<RclOptions>,
      [](const LossOptions& o, const LossInput& in, const LossContext&) {
        return rcl_loss(in, o.get<RclOptions>());
      },
      [](const LossOptions& o, const LossInput& in, const LossContext&) {
        return row_output(rcl_scores(in, o.get<RclOptions>().scale));
      },
      threshold_parts<RclOptions>};
}

}  // namespace simile
