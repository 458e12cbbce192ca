// SPDX-License-Identifier: Apache-2.0
#include "simile/model/model_settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"

namespace simile {
namespace {

double identity(double x) { return x; }
double hyperbolic_tangent(double x) { return std::tanh(x); }
double relu(double x) { return x > 0 ? x : 0; }
double leaky_relu(double x) { return x > 0 ? x : 0.01 * x; }
double elu(double x) { return x > 0 ? x : std::expm1(x); }
double gelu(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }
double silu(double x) { return x / (1 + std::exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void add_slot(const char* name, std::vector<int64_t> shape, std::vector<ParameterSlot>& slots) {
  ParameterSlot slot;
  slot.name = name;
  slot.offset = slots.empty() ? 0 : slots.back().offset + slots.back().size;
  slot.size = 1;
  for (const int64_t side : shape) slot.size *= side;
  slot.decays = shape.size() > 1;
  slot.shape = std::move(shape);
  slots.push_back(std::move(slot));
}

}  // namespace

const char* module_kind_name(ModuleKind kind) {
  switch (kind) {
    case ModuleKind::kDense:
      return "Dense";
    case ModuleKind::kLayerNorm:
      return "LayerNorm";
    case ModuleKind::kNormalize:
      return "Normalize";
  }
  return "";
}

std::vector<ParameterSlot> module_layout(const ModuleSettings& module) {
  std::vector<ParameterSlot> slots;
  if (module.kind == ModuleKind::kLayerNorm) {
    add_slot("norm.weight", {module.outputs}, slots);
    add_slot("norm.bias", {module.outputs}, slots);
  }
  if (module.kind == ModuleKind::kDense) {
    add_slot("linear.weight", {module.outputs, module.inputs}, slots);
    if (module.bias) add_slot("linear.bias", {module.outputs}, slots);
    if (module.residual && module.inputs != module.outputs) {
      add_slot("residual.weight", {module.outputs, module.inputs}, slots);
    }
  }
  return slots;
}

const std::vector<DenseActivation>& dense_activations() {
  static const std::vector<DenseActivation> rows = {
      {"Identity", "torch.nn.modules.linear.Identity", "x", identity},
      {"Tanh", "torch.nn.modules.activation.Tanh", "tanh x", hyperbolic_tangent},
      {"ReLU", "torch.nn.modules.activation.ReLU", "max(x, 0)", relu},
      {"LeakyReLU", "torch.nn.modules.activation.LeakyReLU", "x, or x / 100 below 0", leaky_relu},
      {"ELU", "torch.nn.modules.activation.ELU", "x, or exp(x) - 1 below 0", elu},
      {"GELU", "torch.nn.modules.activation.GELU", "x Phi(x), by erf", gelu},
      {"SiLU", "torch.nn.modules.activation.SiLU", "x / (1 + exp(-x))", silu},
      {"Sigmoid", "torch.nn.modules.activation.Sigmoid", "1 / (1 + exp(-x))", sigmoid},
  };
  return rows;
}

const DenseActivation& find_dense_activation(const std::string& name) {
  const auto& rows = dense_activations();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const DenseActivation& row) { return name == row.name; });
  SIMILE_CHECK(found != rows.end(), ErrorKind::kInput, "unknown activation \"{}\"", name);
  return *found;
}

const std::vector<PoolingModeRow>& pooling_modes() {
  static const std::vector<PoolingModeRow> rows = {
      {PoolingMode::kCls, "cls", "pooling_mode_cls_token", "h_1"},
      {PoolingMode::kMax, "max", "pooling_mode_max_tokens", "max_t h_t, per dimension"},
      {PoolingMode::kMean, "mean", "pooling_mode_mean_tokens", "(1/n) sum_t h_t"},
      {PoolingMode::kMeanSqrtLength, "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens",
       "(1/sqrt n) sum_t h_t"},
      {PoolingMode::kWeightedMean, "weightedmean", "pooling_mode_weightedmean_tokens",
       "sum_t t h_t / sum_t t"},
      {PoolingMode::kLastToken, "lasttoken", "pooling_mode_lasttoken", "h_n"},
  };
  return rows;
}

std::string pooling_mode_name(PoolingMode mode) {
  return pooling_modes()[static_cast<size_t>(mode)].name;
}

std::vector<std::string> pooling_mode_names() {
  std::vector<std::string> names;
  for (const PoolingModeRow& row : pooling_modes()) names.emplace_back(row.name);
  return names;
}

PoolingMode parse_pooling_mode(const std::string& name) {
  for (const PoolingModeRow& row : pooling_modes()) {
    if (name == row.name) return row.mode;
  }
  throw_error(ErrorKind::kRecipe, "unknown pooling \"{}\"; known: {}", name,
              fmt::join(pooling_mode_names(), ", "));
}

std::string pooling_name(const Pooling& pooling) {
  if (pooling.modes.empty()) return "by the encoder";
  std::string name;
  for (const PoolingMode mode : pooling.modes) {
    name += (name.empty() ? "" : "+") + pooling_mode_name(mode);
  }
  return name;
}

int64_t ModelSettings::pooled_size() const {
  return encoder.hidden * std::max<int64_t>(1, static_cast<int64_t>(pooling.modes.size()));
}

int64_t ModelSettings::embedding_size() const {
  return modules.empty() ? pooled_size() : modules.back().outputs;
}

}  // namespace simile
