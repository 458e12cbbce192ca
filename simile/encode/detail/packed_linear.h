// SPDX-License-Identifier: Apache-2.0
// A linear layer y = W x + b with W in the order the processor wants it. A row's result is the
// same, bit for bit, whatever rows come with it and with however many threads.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"

namespace simile::detail {

class PackedLinear {
 public:
  // weight [outputs, inputs] is copied; bias [outputs] must stay in place, or is null for none.
  PackedLinear(const float* weight, const float* bias, int64_t outputs, int64_t inputs);

  Matrix<float> operator()(const Matrix<float>& x) const;  // [m, inputs] -> [m, outputs]

 private:
  int64_t inputs_, outputs_;
  std::vector<float> panels_;
  const float* bias_;
};

}  // namespace simile::detail
