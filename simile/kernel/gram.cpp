// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/gram.h"

#include <algorithm>
#include <vector>

#include "simile/core/float_buffer.h"
#include "simile/core/parallel.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kBlock = 256;  // rows multiplied at a time
constexpr int64_t kGroups = 16;  // of blocks, each with its own sum

// The sum over blocks first .. last - 1.
Matrix<double> sum_blocks(const float* x, int64_t rows, int64_t columns, int64_t first,
                          int64_t last) {
  const VectorKernels& kernels = vector_kernels();
  FloatBuffer panels, product;
  panels.reserve(panel_floats(kernels, columns, kBlock));
  product.reserve(columns * columns);
  Matrix<double> sum(columns, columns);
  for (int64_t block = first; block < last; ++block) {
    const int64_t begin = block * kBlock, count = std::min(kBlock, rows - begin);
    const float* const a = x + begin * columns;
    kernels.pack_columns(a, columns, count, columns, panels.data());
    kernels.matmul_transposed({columns, columns, count, a, columns, panels.data(), product.data(),
                               columns, nullptr, false, false});
    for (int64_t i = 0; i < columns * columns; ++i) {
      sum.values[static_cast<size_t>(i)] += product.data()[i];
    }
  }
  return sum;
}

}  // namespace

Matrix<double> gram_matrix(const float* x, int64_t rows, int64_t columns) {
  const int64_t blocks = (rows + kBlock - 1) / kBlock, groups = std::min(blocks, kGroups);
  std::vector<Matrix<double>> sums(static_cast<size_t>(groups));
  run_parallel(groups, 1, [&](int64_t group) {
    sums[static_cast<size_t>(group)] =
        sum_blocks(x, rows, columns, group * blocks / groups, (group + 1) * blocks / groups);
  });
  Matrix<double> total(columns, columns);
  for (const Matrix<double>& sum : sums) {
    std::transform(total.values.begin(), total.values.end(), sum.values.begin(),
                   total.values.begin(), [](double a, double b) { return a + b; });
  }
  return total;
}

}  // namespace simile
