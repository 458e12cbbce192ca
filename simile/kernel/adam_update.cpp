// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/adam_update.h"

#include <algorithm>
#include <vector>

#include "simile/kernel/vector_kernels.h"

namespace simile {

void adam_update(const AdamUpdate& update, int64_t n, float* weight, float* first, float* second,
                 const float* gradient) {
  vector_kernels().adam({n, weight, first, second, gradient, update.learning_rate, update.beta1,
                         update.beta2, update.eps, update.decay, update.first_correction,
                         update.second_correction, update.gradient_scale});
}

double sum_of_squares(const float* x, int64_t n) {
  constexpr int64_t kBlock = 1 << 14;
  const VectorKernels& kernels = vector_kernels();
  const int64_t blocks = (n + kBlock - 1) / kBlock;
  if (blocks <= 1) return kernels.sum_of_squares(x, n);
  std::vector<double> sums(static_cast<size_t>(blocks));
  const bool large = blocks > 16;
#pragma omp parallel for schedule(static) if (large)
  for (int64_t i = 0; i < blocks; ++i) {
    sums[i] = kernels.sum_of_squares(x + i * kBlock, std::min(kBlock, n - i * kBlock));
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace simile
