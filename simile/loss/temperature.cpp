// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/temperature.h"

#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "simile/core/error.h"

namespace simile {

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
  SIMILE_CHECK(
      std::isfinite(state), ErrorKind::kInput,
      fmt::format("checkpoint: the temperature's parameter should be finite, found {}; the "
                  "checkpoint is damaged: resume from an earlier one",
                  state));
  if (!trainable()) return;
  torch::NoGradGuard guard;
  parameter_.fill_(state);
  clamp();
}

}  // namespace simile
