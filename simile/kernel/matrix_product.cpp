// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/matrix_product.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/byte_kernels.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = {"fp32", "bf16", "int8"};
  return names;
}

ProductType parse_precision(const std::string& name) {
  const auto& names = precision_names();
  const auto found = std::find(names.begin(), names.end(), name);
  SIMILE_CHECK(found != names.end(), ErrorKind::kRecipe, "precision {}: expected {}", name,
               fmt::join(names, ", "));
  return static_cast<ProductType>(found - names.begin());
}

ProductType choose_precision(const std::string& name) {
  const ProductType products = parse_precision(name);
  if (products == ProductType::kBfloat) {
    check_bfloat_products("precision bf16", "it computes fp32 and int8");
  }
  return products;
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

namespace {

constexpr int64_t kNumbersPerFloat = 2, kBytesPerFloat = 4;

uint16_t* numbers(float* memory) { return reinterpret_cast<uint16_t*>(memory); }
const uint16_t* numbers(const float* memory) { return reinterpret_cast<const uint16_t*>(memory); }
int8_t* bytes(float* memory) { return reinterpret_cast<int8_t*>(memory); }
const int8_t* bytes(const float* memory) { return reinterpret_cast<const int8_t*>(memory); }

constexpr int64_t kRowsPerBlock = 64;  // rows one thread multiplies at a time

}  // namespace

MatrixProducts::MatrixProducts(ProductType type)
    : bfloat_(type == ProductType::kBfloat ? bfloat_kernels() : nullptr),
      byte_(type == ProductType::kByte ? &byte_kernels() : nullptr) {
  SIMILE_CHECK(type != ProductType::kBfloat || bfloat_ != nullptr, ErrorKind::kFailed,
               "a product of bfloat16 numbers on a processor without instructions for it");
}

const BfloatKernels* MatrixProducts::rounded() const {
  return byte_ != nullptr ? bfloat_kernels() : bfloat_;
}

int64_t MatrixProducts::panel_width() const {
  if (byte_ != nullptr) return kBytePanel;
  return bfloat_ != nullptr ? kBfloatPanel : vector_kernels().panel_width;
}

int64_t MatrixProducts::token_places(int64_t tokens) const {
  if (bfloat_ == nullptr) return tokens;
  return (tokens + kBfloatStep - 1) / kBfloatStep * kBfloatStep;
}

int64_t MatrixProducts::panel_floats(int64_t n, int64_t k) const {
  if (bfloat_ != nullptr) return bfloat_panel_size(n, k) / kNumbersPerFloat;
  if (byte_ != nullptr) return byte_panel_size(n, k) / kBytesPerFloat;
  return simile::panel_floats(vector_kernels(), n, k);
}

void MatrixProducts::pack_rows(const float* w, int64_t n, int64_t k, int64_t ldw,
                               float* panels) const {
  if (bfloat_ != nullptr) return bfloat_->pack_rows(w, n, k, ldw, numbers(panels));
  if (byte_ != nullptr) return pack_byte_rows(w, n, k, ldw, bytes(panels));
  vector_kernels().pack_rows(w, n, k, ldw, panels);
}

void MatrixProducts::pack_columns(const float* b, int64_t n, int64_t k, int64_t ldb,
                                  float* panels) const {
  if (bfloat_ != nullptr) return bfloat_->pack_columns(b, n, k, 0, k, ldb, numbers(panels));
  vector_kernels().pack_columns(b, n, k, ldb, panels);
}

void MatrixProducts::pack_bytes(const int8_t* numbers, const float* scales, int64_t n, int64_t k,
                                float* panels) const {
  pack_byte_rows(numbers, scales, n, k, bytes(panels));
}

void MatrixProducts::multiply(const MatmulCall& call) const {
  if (bfloat_ == nullptr && byte_ == nullptr) return vector_kernels().matmul(call);
  multiply_rounded(call);
  for (int64_t r = 0; r < call.m && call.gelu; ++r) {
    float* const row = call.c + r * call.ldc;
    vector_kernels().activate({Activation::kGelu, false, 1, call.n, row, row});
  }
}

void MatrixProducts::multiply_rounded(const MatmulCall& call) const {
  static thread_local FloatBuffer scratch;
  if (byte_ != nullptr) {
    float* const room = scratch.reserve(byte_scratch(call.k) / kNumbersPerFloat);
    return byte_->matmul({call.m, call.n, call.k, call.a, call.lda, bytes(call.panels), call.c,
                          call.ldc, call.bias, reinterpret_cast<int16_t*>(room)});
  }
  float* const room = scratch.reserve(bfloat_scratch(call.k) / kNumbersPerFloat);
  bfloat_->matmul({call.m, call.n, call.k, call.a, call.lda, numbers(call.panels), call.c, call.ldc,
                   call.bias, numbers(room), call.accumulate});
}

void MatrixProducts::pack_tokens(const float* x, int64_t ldx, int64_t width, int64_t tokens,
                                 int64_t first, int64_t count, float* panels) const {
  if (bfloat_ != nullptr) {
    return bfloat_->pack_columns(x, width, tokens, first, count, ldx, numbers(panels));
  }
  const VectorKernels& kernels = vector_kernels();
  for (int64_t j = 0; j < width; j += kernels.panel_width) {
    kernels.pack_columns(x + j, std::min(kernels.panel_width, width - j), count, ldx,
                         panels + j * tokens + first * kernels.panel_width);
  }
}

void MatrixProducts::pack_left(const float* dy, int64_t width, int64_t tokens, int64_t first,
                               int64_t count, float* left) const {
  bfloat_->pack_left_columns(dy, width, tokens, first, count, width, numbers(left));
}

void MatrixProducts::add_gradient(const WeightTile& t, int64_t tokens) const {
  if (bfloat_ != nullptr) {
    return bfloat_->matmul_packed(
        {t.rows, t.n, tokens, numbers(t.dy), numbers(t.panels), t.w, t.n});
  }
  vector_kernels().matmul_transposed(
      {t.rows, t.n, tokens, t.dy, t.lda, t.panels, t.w, t.n, nullptr, true});
}

PackedMatrix::PackedMatrix(int64_t n, int64_t k, const MatrixProducts& products)
    : products_(products), n_(n), k_(k) {
  const int64_t floats = products.panel_floats(n, k);
  panels_ = products.is_rounded() ? lent_.emplace(floats).data() : own_.reserve(floats);
}

PackedMatrix::PackedMatrix(const float* b, int64_t n, int64_t k, MatrixLayout layout,
                           const MatrixProducts& products)
    : PackedMatrix(n, k, products) {
  if (layout == MatrixLayout::kColumns) {
    products_.pack_rows(b, n, k, k, panels_);
  } else {
    products_.pack_columns(b, n, k, n, panels_);
  }
}

void PackedMatrix::set_columns(int64_t first, int64_t count, const float* b) {
  products_.pack_rows(b, count, k_, k_, panels_ + products_.panel_floats(first, k_));
}

void PackedMatrix::set_rows(int64_t first, int64_t count, const float* b, int64_t ldb) {
  products_.pack_tokens(b, ldb, n_, k_, first, count, panels_);
}

void PackedMatrix::multiply(const float* a, int64_t m, const float* bias, float* c) const {
  run_parallel_blocks(m, kRowsPerBlock, [&](int64_t begin, int64_t end) {
    multiply_columns(a + begin * k_, end - begin, 0, n_, bias, c + begin * n_, n_);
  });
}

void PackedMatrix::multiply_columns(const float* a, int64_t m, int64_t first, int64_t count,
                                    const float* bias, float* c, int64_t stride) const {
  products_.multiply(
      {m, count, k_, a, k_, panels_ + products_.panel_floats(first, k_), c, stride, bias});
}

void PackedMatrix::multiply_rows(const float* a, int64_t lda, int64_t m, float* c,
                                 int64_t ldc) const {
  products_.multiply({m, n_, k_, a, lda, panels_, c, ldc});
}

void PackedMatrix::multiply_transposed(const float* a, int64_t lda, int64_t m, float* c,
                                       int64_t ldc) const {
  vector_kernels().matmul_transposed({m, n_, k_, a, lda, panels_, c, ldc});
}

}  // namespace simile
