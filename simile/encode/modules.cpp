// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/modules.h"

#include <cmath>

#include "simile/kernel/pooling.h"

namespace simile {
namespace {

// The tensor of that name, or null.
const float* find_weights(const ModuleSettings& module, const char* name) {
  for (const ParameterSlot& slot : module_layout(module)) {
    if (slot.name == name) return module.weights->data() + slot.offset;
  }
  return nullptr;
}

void norm_rows(const ModuleSettings& module, Matrix<float>& rows) {
  const float* const weight = find_weights(module, "norm.weight");
  const float* const bias = find_weights(module, "norm.bias");
  const auto size = static_cast<double>(rows.cols);
  for (int64_t i = 0; i < rows.rows; ++i) {
    float* const row = rows.row(i);
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < rows.cols; ++j) mean += row[j] / size;
    for (int64_t j = 0; j < rows.cols; ++j) squares += (row[j] - mean) * (row[j] - mean);
    const double scale = 1 / std::sqrt(squares / size + kModuleNormEps);
    for (int64_t j = 0; j < rows.cols; ++j) {
      row[j] = static_cast<float>((row[j] - mean) * scale * weight[j] + bias[j]);
    }
  }
}

Matrix<float> multiply(const Matrix<float>& x, const PackedMatrix& weight, const float* bias) {
  Matrix<float> y(x.rows, weight.columns());
  weight.multiply(x.values.data(), x.rows, bias, y.values.data());
  return y;
}

}  // namespace

ModuleChain::ModuleChain(const std::vector<ModuleSettings>& modules) {
  for (const ModuleSettings& module : modules) {
    Step step{module, {}, nullptr};
    if (module.kind == ModuleKind::kDense) {
      step.bias = find_weights(module, "linear.bias");
      for (const char* name : {"linear.weight", "residual.weight"}) {
        const float* const weight = find_weights(module, name);
        if (weight == nullptr) continue;
        step.linear.emplace_back(weight, module.outputs, module.inputs, MatrixLayout::kColumns);
      }
    }
    steps_.push_back(std::move(step));
  }
}

Matrix<float> ModuleChain::operator()(Matrix<float> rows) const {
  for (const Step& step : steps_) {
    if (step.settings.kind == ModuleKind::kNormalize) {
      normalise_rows(rows.values.data(), rows.rows, rows.cols);
    } else if (step.settings.kind == ModuleKind::kLayerNorm) {
      norm_rows(step.settings, rows);
    } else {
      Matrix<float> out = multiply(rows, step.linear[0], step.bias);
      const DenseActivation& activation = find_dense_activation(step.settings.activation);
      for (float& value : out.values) value = static_cast<float>(activation.apply(value));
      if (step.linear.size() > 1) rows = multiply(rows, step.linear[1], nullptr);
      for (size_t i = 0; step.settings.residual && i < out.values.size(); ++i) {
        out.values[i] += rows.values[i];
      }
      rows = std::move(out);
    }
  }
  return rows;
}

}  // namespace simile
