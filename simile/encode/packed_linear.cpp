// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/detail/packed_linear.h"

#include <algorithm>

#include "simile/kernel/vector_kernels.h"

namespace simile::detail {
namespace {

constexpr int64_t kRowsPerBlock = 64;  // rows one thread multiplies at a time

}  // namespace

PackedLinear::PackedLinear(const float* weight, const float* bias, int64_t outputs, int64_t inputs)
    : inputs_(inputs), outputs_(outputs), bias_(bias) {
  const VectorKernels& kernels = vector_kernels();
  panels_.resize(static_cast<size_t>(panel_floats(kernels, outputs, inputs)));
  kernels.pack_rows(weight, outputs, inputs, inputs, panels_.data());
}

Matrix<float> PackedLinear::operator()(const Matrix<float>& x) const {
  Matrix<float> y(x.rows, outputs_);
  const int64_t blocks = (x.rows + kRowsPerBlock - 1) / kRowsPerBlock;
#pragma omp parallel for schedule(static) if (blocks > 1)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * kRowsPerBlock, count = std::min(kRowsPerBlock, x.rows - first);
    vector_kernels().matmul({count, outputs_, inputs_, x.row(first), inputs_, panels_.data(),
                             y.row(first), outputs_, bias_, false, false});
  }
  return y;
}

}  // namespace simile::detail
