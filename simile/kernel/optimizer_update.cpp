// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/optimizer_update.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace simile {

void adam_update(const AdamUpdate& update, int64_t n, float* weight, float* first, float* second,
                 const float* gradient) {
  vector_kernels().adam({update, n, weight, first, second, gradient});
}

void adamax_update(const AdamUpdate& update, int64_t n, float* __restrict weight,
                   float* __restrict first, float* __restrict largest,
                   const float* __restrict gradient) {
  const float rate = update.learning_rate / update.first_correction;
  for (int64_t i = 0; i < n; ++i) {
    const float g = update.gradient_scale * gradient[i] + update.l2 * weight[i];
    first[i] = update.beta1 * first[i] + (1.0f - update.beta1) * g;
    largest[i] = std::max(update.beta2 * largest[i], std::fabs(g) + update.eps);
    weight[i] -= rate * (first[i] / largest[i]);
  }
}

void sgd_update(const SgdUpdate& update, int64_t n, float* __restrict weight,
                float* __restrict velocity, const float* __restrict gradient) {
  for (int64_t i = 0; i < n; ++i) {
    const float g = update.gradient_scale * gradient[i] + update.l2 * weight[i];
    velocity[i] = update.momentum * velocity[i] + g;
    weight[i] -= update.learning_rate * velocity[i];
  }
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
