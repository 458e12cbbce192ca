// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/matrix_product.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = {"fp32", "bf16", "int8"};
  return names;
}

ProductType parse_precision(const std::string& name) {
  const auto& names = precision_names();
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kRecipe,
               fmt::format("precision {}: expected {}", name, fmt::join(names, ", ")));
  return static_cast<ProductType>(found - names.begin());
}

ProductType choose_precision(const std::string& name) {
  const ProductType products = parse_precision(name);
  if (products == ProductType::kBfloat) {
    check_bfloat_products("precision bf16", "it computes fp32 and int8");
  }
  return products;
}

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

namespace {

constexpr int64_t kRowsPerTask = 128;

// Two numbers to a float.
int64_t floats_of(int64_t numbers) { return (numbers + 1) / 2; }

}  // namespace

BfloatMatrix::BfloatMatrix(int64_t n, int64_t k, const BfloatKernels* kernels)
    : kernels_(kernels != nullptr ? kernels : &require_bfloat_kernels()),
      n_(n),
      k_(k),
      memory_(floats_of(bfloat_panel_size(n, k))) {}

BfloatMatrix::BfloatMatrix(const float* b, int64_t n, int64_t k, MatrixLayout layout,
                           const BfloatKernels* kernels)
    : BfloatMatrix(n, k, kernels) {
  if (layout == MatrixLayout::kColumns) {
    kernels_->pack_rows(b, n, k, k, panels());
  } else {
    kernels_->pack_columns(b, n, k, 0, k, n, panels());
  }
}

uint16_t* BfloatMatrix::panels() { return reinterpret_cast<uint16_t*>(memory_.data()); }
const uint16_t* BfloatMatrix::panels() const {
  return reinterpret_cast<const uint16_t*>(memory_.data());
}

void BfloatMatrix::set_rows(int64_t first, int64_t count, const float* b, int64_t ldb) {
  kernels_->pack_columns(b, n_, k_, first, count, ldb, panels());
}

void BfloatMatrix::multiply(const float* a, int64_t m, const float* bias, float* c) const {
  run_parallel_blocks(m, kRowsPerTask, [&](int64_t begin, int64_t end) {
    multiply_columns(a + begin * k_, end - begin, 0, n_, bias, c + begin * n_, n_);
  });
}

void BfloatMatrix::multiply_columns(const float* a, int64_t m, int64_t first, int64_t count,
                                    const float* bias, float* c, int64_t stride) const {
  static thread_local FloatBuffer scratch;
  float* room = scratch.reserve(floats_of(bfloat_scratch(k_)));
  kernels_->matmul({m, count, k_, a, k_, panels() + bfloat_panel_size(first, k_), c, stride, bias,
                    reinterpret_cast<uint16_t*>(room)});
}

void BfloatMatrix::multiply_rows(const float* a, int64_t lda, int64_t m, float* c,
                                 int64_t ldc) const {
  static thread_local FloatBuffer scratch;
  float* room = scratch.reserve(floats_of(bfloat_scratch(k_)));
  kernels_->matmul(
      {m, n_, k_, a, lda, panels(), c, ldc, nullptr, reinterpret_cast<uint16_t*>(room)});
}

void check_bfloat_products(const std::string& where, const std::string& advice) {
  if (bfloat_kernels() != nullptr) return;
  throw Error(ErrorKind::kRecipe,
              where +
                  ": expected a processor with instructions for products of bfloat16 numbers "
                  "(AMX-BF16 or AVX-512-BF16), and a system that lets programs use them; this "
                  "one has " +
                  vector_kernels().name + "; " + advice);
}

}  // namespace simile
