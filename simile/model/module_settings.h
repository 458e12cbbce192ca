// SPDX-License-Identifier: Apache-2.0
// What follows the pooling in a sentence-transformers model, module by module, each from a vector x
// to the next vector:
//
//   Dense      f(W x + b) (+ R x, or + x where the sizes are equal)   W, R [outputs, inputs]
//   LayerNorm  (x - mean) / sqrt(variance + 1e-5) * w + b             over the vector's numbers
//   Normalize  x / max(|x|, 1e-12)
//
// f is one of dense_activations(); + R x with use_residual only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/kernel/encoder_parameters.h"

namespace simile {

enum class ModuleKind { kDense, kLayerNorm, kNormalize };

const char* module_kind_name(ModuleKind kind);  // "Dense": the last part of the type

constexpr float kModuleNormEps = 1e-5f;

struct ModuleSettings {
  ModuleKind kind = ModuleKind::kNormalize;
  int64_t inputs = 0, outputs = 0;      // equal but for Dense
  std::string activation = "Identity";  // Dense: a name of dense_activations()
  bool bias = true;                     // Dense
  bool residual = false;                // Dense
  // The tensors of module_layout() one behind the other; null for Normalize.
  std::shared_ptr<const std::vector<float>> weights;
};

// linear.weight, linear.bias, residual.weight of Dense; norm.weight, norm.bias of LayerNorm: those
// the module has, under the names and in the shapes sentence-transformers saves.
std::vector<ParameterSlot> module_layout(const ModuleSettings& module);

struct DenseActivation {
  const char* name;        // "Tanh"
  const char* torch_name;  // "torch.nn.modules.activation.Tanh": activation_function
  const char* formula;
  double (*apply)(double);
};

const std::vector<DenseActivation>& dense_activations();

// The activation of that name. It must be one of dense_activations().
const DenseActivation& find_dense_activation(const std::string& name);

}  // namespace simile
