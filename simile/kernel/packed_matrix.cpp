// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/packed_matrix.h"

#include "simile/core/parallel.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kRowsPerBlock = 64;  // rows one thread multiplies at a time

}  // namespace

PackedMatrix::PackedMatrix(int64_t n, int64_t k) : n_(n), k_(k) {
  panels_.reserve(panel_floats(vector_kernels(), n, k));
}

PackedMatrix::PackedMatrix(const float* b, int64_t n, int64_t k, MatrixLayout layout)
    : PackedMatrix(n, k) {
  const VectorKernels& kernels = vector_kernels();
  if (layout == MatrixLayout::kColumns) {
    kernels.pack_rows(b, n, k, k, panels_.data());
  } else {
    kernels.pack_columns(b, n, k, n, panels_.data());
  }
}

void PackedMatrix::set_columns(int64_t first, int64_t count, const float* b) {
  vector_kernels().pack_rows(b, count, k_, k_, panels_.data() + first * k_);
}

void PackedMatrix::multiply(const float* a, int64_t m, const float* bias, float* c) const {
  run_parallel_blocks(m, kRowsPerBlock, [&](int64_t begin, int64_t end) {
    multiply_columns(a + begin * k_, end - begin, 0, n_, bias, c + begin * n_, n_);
  });
}

void PackedMatrix::multiply_columns(const float* a, int64_t m, int64_t first, int64_t count,
                                    const float* bias, float* c, int64_t stride) const {
  vector_kernels().matmul(
      {m, count, k_, a, k_, panels_.data() + first * k_, c, stride, bias, false, false});
}

void PackedMatrix::multiply_rows(const float* a, int64_t lda, int64_t m, float* c,
                                 int64_t ldc) const {
  vector_kernels().matmul({m, n_, k_, a, lda, panels_.data(), c, ldc, nullptr, false, false});
}

void PackedMatrix::multiply_transposed(const float* a, int64_t lda, int64_t m, float* c,
                                       int64_t ldc) const {
  vector_kernels().matmul_transposed(
      {m, n_, k_, a, lda, panels_.data(), c, ldc, nullptr, false, false});
}

}  // namespace simile
