// SPDX-License-Identifier: Apache-2.0
// The modules between pooling and the Normalize at the end (simile/model/model_settings.h),
// applied one after the other.
//
// A row's result is the same, bit for bit, whatever rows come with it and with however many
// threads. Const methods may run in several threads at once.
#pragma once

#include <vector>

#include "simile/core/matrix.h"
#include "simile/kernel/matrix_product.h"
#include "simile/model/model_settings.h"

namespace simile {

class ModuleChain {
 public:
  explicit ModuleChain(const std::vector<ModuleSettings>& modules);

  // [m, inputs of the first module] -> [m, outputs of the last].
  Matrix<float> operator()(Matrix<float> rows) const;

 private:
  struct Step {
    ModuleSettings settings;
    std::vector<PackedMatrix> linear;  // Dense: W, and R where the residual has its own
    const float* bias;                 // Dense: of W, or null
  };
  std::vector<Step> steps_;
};

}  // namespace simile
