// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"

namespace simile {
namespace {

std::string shape_text(const torch::Tensor& tensor) {
  return tensor.defined() ? fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")) : "nothing";
}

void check_shape(const torch::Tensor& tensor, const char* name, torch::IntArrayRef expected) {
  SIMILE_CHECK(tensor.defined() && tensor.sizes() == expected, ErrorKind::kInput,
               fmt::format("loss: {} should have shape [{}] like the left side, found {}", name,
                           fmt::join(expected, ", "), shape_text(tensor)));
}

void check_rows(const torch::Tensor& tensor, const char* name, int64_t m) {
  SIMILE_CHECK(!tensor.defined() || (tensor.dim() == 2 && tensor.size(0) == m), ErrorKind::kInput,
               fmt::format("loss: {} should be [m, k] with m = {} as the left side has, found {}",
                           name, m, shape_text(tensor)));
}

}  // namespace

void check_loss_input(const LossInput& input) {
  SIMILE_CHECK(input.left.defined() && input.left.dim() == 2 && input.left.size(0) > 0,
               ErrorKind::kInput,
               fmt::format("loss: the left side should be embeddings [m, D] with m > 0, found {}",
                           shape_text(input.left)));
  if (input.right.defined()) check_shape(input.right, "the right side", input.left.sizes());
  for (const auto& negative : input.negatives) {
    check_shape(negative, "each negative", input.left.sizes());
  }
  const int64_t m = input.left.size(0);
  if (input.target.defined()) check_shape(input.target, "the target", {m});
  if (input.classes.defined()) check_shape(input.classes, "the classes", {m});
  if (input.left_group.defined()) check_shape(input.left_group, "the left group", {m});
  if (input.right_group.defined()) check_shape(input.right_group, "the right group", {m});
  check_rows(input.logits, "the logits", m);
  check_rows(input.cross_logits, "the logits of all pairs", m);
  for (const auto& teacher : input.left_teachers) check_rows(teacher, "a teacher's left side", m);
  for (const auto& teacher : input.right_teachers) check_rows(teacher, "a teacher's right side", m);
}

void check_pair_input(const LossInput& input) {
  check_loss_input(input);
  check_shape(input.right, "the right side", input.left.sizes());
}

torch::Tensor target_or_ones(const LossInput& input) {
  if (!input.target.defined()) return torch::ones({input.left.size(0)}, input.left.options());
  return input.target.to(input.left.options());
}

}  // namespace simile
