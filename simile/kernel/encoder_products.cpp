// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/detail/encoder_products.h"

#include <algorithm>

#include "simile/core/memory.h"
#include "simile/kernel/bfloat_kernels.h"
#include "simile/kernel/byte_kernels.h"

namespace simile {
namespace {

constexpr int64_t kNumbersPerFloat = 2, kBytesPerFloat = 4;

uint16_t* numbers(float* memory) { return reinterpret_cast<uint16_t*>(memory); }
const uint16_t* numbers(const float* memory) { return reinterpret_cast<const uint16_t*>(memory); }
int8_t* bytes(float* memory) { return reinterpret_cast<int8_t*>(memory); }
const int8_t* bytes(const float* memory) { return reinterpret_cast<const int8_t*>(memory); }

}  // namespace

EncoderProducts::EncoderProducts(ProductType type)
    : bfloat_(type == ProductType::kBfloat ? &require_bfloat_kernels() : nullptr),
      byte_(type == ProductType::kByte ? &byte_kernels() : nullptr) {}

int64_t EncoderProducts::panel_width() const {
  if (byte_ != nullptr) return kBytePanel;
  return bfloat_ != nullptr ? kBfloatPanel : vector_kernels().panel_width;
}

int64_t EncoderProducts::token_places(int64_t tokens) const {
  if (bfloat_ == nullptr) return tokens;
  return (tokens + kBfloatStep - 1) / kBfloatStep * kBfloatStep;
}

int64_t EncoderProducts::panel_floats(int64_t n, int64_t k) const {
  if (bfloat_ != nullptr) return bfloat_panel_size(n, k) / kNumbersPerFloat;
  if (byte_ != nullptr) return byte_panel_size(n, k) / kBytesPerFloat;
  return simile::panel_floats(vector_kernels(), n, k);
}

void EncoderProducts::pack_rows(const float* w, int64_t n, int64_t k, int64_t ldw,
                                float* panels) const {
  if (bfloat_ != nullptr) return bfloat_->pack_rows(w, n, k, ldw, numbers(panels));
  if (byte_ != nullptr) return pack_byte_rows(w, n, k, ldw, bytes(panels));
  vector_kernels().pack_rows(w, n, k, ldw, panels);
}

void EncoderProducts::pack_columns(const float* b, int64_t n, int64_t k, int64_t ldb,
                                   float* panels) const {
  if (bfloat_ != nullptr) return bfloat_->pack_columns(b, n, k, 0, k, ldb, numbers(panels));
  vector_kernels().pack_columns(b, n, k, ldb, panels);
}

void EncoderProducts::pack_bytes(const int8_t* numbers, const float* scales, int64_t n, int64_t k,
                                 float* panels) const {
  pack_byte_rows(numbers, scales, n, k, bytes(panels));
}

void EncoderProducts::multiply(const MatmulCall& call) const {
  if (bfloat_ == nullptr && byte_ == nullptr) return vector_kernels().matmul(call);
  multiply_rounded(call);
  for (int64_t r = 0; r < call.m && call.gelu; ++r) {
    float* const row = call.c + r * call.ldc;
    vector_kernels().activate({Activation::kGelu, false, 1, call.n, row, row});
  }
}

void EncoderProducts::multiply_rounded(const MatmulCall& call) const {
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

void EncoderProducts::pack_tokens(const float* x, int64_t width, int64_t tokens, int64_t first,
                                  int64_t count, float* panels) const {
  if (bfloat_ != nullptr) {
    return bfloat_->pack_columns(x, width, tokens, first, count, width, numbers(panels));
  }
  const VectorKernels& kernels = vector_kernels();
  for (int64_t j = 0; j < width; j += kernels.panel_width) {
    kernels.pack_columns(x + j, std::min(kernels.panel_width, width - j), count, width,
                         panels + j * tokens + first * kernels.panel_width);
  }
}

void EncoderProducts::pack_left(const float* dy, int64_t width, int64_t tokens, int64_t first,
                                int64_t count, float* left) const {
  bfloat_->pack_left_columns(dy, width, tokens, first, count, width, numbers(left));
}

const float* EncoderProducts::left_at(const float* left, int64_t row, int64_t tokens) const {
  return left + bfloat_panel_size(row, tokens) / kNumbersPerFloat;
}

void EncoderProducts::add_gradient(const WeightTile& t, int64_t tokens) const {
  if (bfloat_ != nullptr) {
    return bfloat_->matmul_packed(
        {t.rows, t.n, tokens, numbers(t.dy), numbers(t.panels), t.w, t.n});
  }
  vector_kernels().matmul_transposed(
      {t.rows, t.n, tokens, t.dy, t.lda, t.panels, t.w, t.n, nullptr, true, false});
}

}  // namespace simile
