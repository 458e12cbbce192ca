// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/loss_input.h"

#include <fmt/ranges.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

std::string shape_text(const torch::Tensor& tensor) {
  return tensor.defined() ? fmt::format("[{}]", fmt::join(tensor.sizes(), ", ")) : "nothing";
}

void check_shape(const torch::Tensor& tensor, const char* name, torch::IntArrayRef expected) {
  SIMILE_CHECK(tensor.defined() && tensor.sizes() == expected, ErrorKind::kInput,
               "loss: {} should have shape [{}] like the left side, found {}", name,
               fmt::join(expected, ", "), shape_text(tensor));
}

void check_rows(const torch::Tensor& tensor, const char* name, int64_t m) {
  SIMILE_CHECK(!tensor.defined() || (tensor.dim() == 2 && tensor.size(0) == m), ErrorKind::kInput,
               "loss: {} should be [m, k] with m = {} as the left side has, found {}", name, m,
               shape_text(tensor));
}

using torch::Tensor;

constexpr double kSmallestDivisor = 1e-12;

// x / divisor, and 0 without gradient where the divisor is too small. Both branches of where() are
// finite, since a gradient of zero times infinity would be NaN.
Tensor divide_guarded(const Tensor& x, const Tensor& divisor) {
  const Tensor usable = divisor > kSmallestDivisor;
  const Tensor quotient = x / torch::where(usable, divisor, torch::ones_like(divisor));
  return torch::where(usable, quotient, torch::zeros_like(quotient));
}

}  // namespace

void check_loss_input(const LossInput& input) {
  SIMILE_CHECK(input.left.defined() && input.left.dim() == 2 && input.left.size(0) > 0,
               ErrorKind::kInput,
               "loss: the left side should be embeddings [m, D] with m > 0, found {}",
               shape_text(input.left));
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

const std::vector<std::string>& normalization_names() {
  static const std::vector<std::string> names = {"none", "l2", "coordinate_l2", "coordinate_range",
                                                 "coordinate_minmax"};
  return names;
}

bool is_coordinate_normalization(const std::string& name) {
  return name.rfind("coordinate_", 0) == 0;
}

Tensor normalize_embeddings(const Tensor& x, const std::string& name) {
  if (name == "none") return x;
  if (name == "l2") {
    return has_unit_rows(x) ? unit_rows(x) : divide_guarded(x, x.norm(2, {1}, true));
  }
  if (name == "coordinate_l2") return divide_guarded(x, x.norm(2, {0}, true));
  SIMILE_CHECK(name == "coordinate_range" || name == "coordinate_minmax", ErrorKind::kRecipe,
               "'{}' is no normalisation; choose one of {}", name,
               fmt::join(normalization_names(), ", "));
  const Tensor minimum = x.amin({0}, true);
  const Tensor range = x.amax({0}, true) - minimum;
  return divide_guarded(name == "coordinate_range" ? x : x - minimum, range);
}

Tensor row_cosine(const Tensor& u, const Tensor& v) {
  return (normalize_embeddings(u, "l2") * normalize_embeddings(v, "l2")).sum(1);
}

Tensor row_distance(const Tensor& u, const Tensor& v, const std::string& name) {
  if (name == "cosine") return 1.0 - row_cosine(u, v);
  if (name == "euclidean") return (u - v).norm(2, {1});
  SIMILE_CHECK(name == "manhattan", ErrorKind::kRecipe,
               "'" + name + "' is no distance; choose one of cosine, euclidean, manhattan");
  return (u - v).abs().sum(1);
}

Tensor single_logits(const LossInput& input, const char* loss) {
  check_loss_input(input);
  SIMILE_CHECK(input.logits.defined(), ErrorKind::kInput,
               "loss: {} needs the number a head gives each pair, and there is no "
               "head; give the objective a head with one output",
               loss);
  const int64_t m = input.left.size(0);
  SIMILE_CHECK(input.logits.dim() == 2 && input.logits.size(0) == m && input.logits.size(1) == 1,
               ErrorKind::kInput,
               "loss: {} needs one number a pair from the head, [{}, 1], found [{}]", loss, m,
               fmt::join(input.logits.sizes(), ", "));
  return input.logits.squeeze(1);
}

Tensor pair_scores(const LossInput& input) {
  if (input.logits.defined()) return single_logits(input, "a score");
  check_pair_input(input);
  return row_cosine(input.left, input.right);
}

Temperature::Temperature(const TemperatureOptions& options, torch::Device device)
    : options_(options) {
  if (!options.trainable) return;
  parameter_ = torch::empty({1}, device);
  parameter_.requires_grad_(true);
  set_value(options.value);
}

torch::Tensor Temperature::scale(const torch::Tensor& like) const {
  if (!trainable()) return torch::full({}, 1.0 / options_.value, like.options());
  const torch::Tensor parameter = parameter_.squeeze(0).to(like.options());
  return logarithmic() ? parameter.exp() : parameter;
}

double Temperature::value() const {
  if (!trainable()) return options_.value;
  const double tau = logarithmic() ? std::exp(-state()) : 1.0 / state();
  return std::clamp(tau, kMinimumTemperature, kMaximumTemperature);
}

void Temperature::set_value(double tau) { load_state(logarithmic() ? -std::log(tau) : 1.0 / tau); }

void Temperature::clamp() {
  if (!trainable()) return;
  torch::NoGradGuard guard;
  if (logarithmic()) {
    parameter_.clamp_(-std::log(kMaximumTemperature), -std::log(kMinimumTemperature));
  } else {
    parameter_.clamp_(1.0 / kMaximumTemperature, 1.0 / kMinimumTemperature);
  }
}

double Temperature::state() const { return trainable() ? parameter_.item<float>() : 0.0; }

void Temperature::load_state(double state) {
  SIMILE_CHECK(std::isfinite(state), ErrorKind::kInput,
               "checkpoint: the temperature's parameter should be finite, found {}; the "
               "checkpoint is damaged: resume from an earlier one",
               state);
  if (!trainable()) return;
  torch::NoGradGuard guard;
  parameter_.fill_(state);
  clamp();
}

}  // namespace simile
