// SPDX-License-Identifier: Apache-2.0
// The modules between pooling and the Normalize at the end (simile/model/module_settings.h),
// applied one after the other.
//
// A row's result is the same, bit for bit, whatever rows come with it and with however many
// threads. Const methods may run in several threads at once.
#pragma once

#include <vector>

#include "simile/core/matrix.h"
#include "simile/encode/detail/packed_linear.h"
#include "simile/model/module_settings.h"

namespace simile {

class ModuleChain {
 public:
  explicit ModuleChain(const std::vector<ModuleSettings>& modules);

  // [m, inputs of the first module] -> [m, outputs of the last].
  Matrix<float> operator()(Matrix<float> rows) const;

 private:
  struct Step {
    ModuleSettings settings;
    std::vector<detail::PackedLinear> linear;  // Dense: W, and R where the residual has its own
  };
  std::vector<Step> steps_;
};

}  // namespace simile
