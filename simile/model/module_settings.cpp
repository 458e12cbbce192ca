// SPDX-License-Identifier: Apache-2.0
#include "simile/model/module_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/core/error.h"

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
  SIMILE_CHECK(found != rows.end(), ErrorKind::kInput,
               fmt::format("unknown activation \"{}\"", name));
  return *found;
}

}  // namespace simile
