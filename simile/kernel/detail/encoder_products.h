// SPDX-License-Identifier: Apache-2.0
// The matrix products of an encoder's linear maps, in each type of numbers: how what stands on the
// right is packed as panels, and what is multiplied with it. Memory is floats with every type.
//
//   forward    y = x W^T + b: pack_rows(), multiply()
//   backward   dx = dy W: pack_columns(), multiply()
//   gradients  dW += dy^T x, over all tokens: add_gradient()
//
// Bytes are for forward alone. One thread each, and what vector_kernels.h, bfloat_kernels.h and
// byte_kernels.h say of a row's bits.
#pragma once

#include <cstdint>

#include "simile/kernel/matrix_product.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

struct BfloatKernels;
struct ByteKernels;

// Some rows of one matrix's gradient: w [rows, n] += dy^T x over `tokens` tokens.
struct WeightTile {
  const float* dy;  // the columns of these rows: [tokens, lda], or with bfloat16 packed
  int64_t lda;
  const float* panels;  // of x
  float* w;
  int64_t rows, n;
};

class EncoderProducts {
 public:
  // Errors: kFailed for bfloat16 on a processor without instructions for it.
  explicit EncoderProducts(ProductType type = ProductType::kFloat);

  bool is_rounded() const { return bfloat_ != nullptr; }  // to bfloat16
  int64_t panel_width() const;                            // columns
  int64_t token_places(int64_t tokens) const;  // that panels over tokens have for a part of them

  // Floats that panels of B [k, n] take.
  int64_t panel_floats(int64_t n, int64_t k) const;
  // From w [n, k], or from b [k, n].
  void pack_rows(const float* w, int64_t n, int64_t k, int64_t ldw, float* panels) const;
  void pack_columns(const float* b, int64_t n, int64_t k, int64_t ldb, float* panels) const;
  // With bytes alone: from those that stand for w [n, k].
  void pack_bytes(const int8_t* numbers, const float* scales, int64_t n, int64_t k,
                  float* panels) const;
  // With bytes there is no accumulate.
  void multiply(const MatmulCall& call) const;

  // Tokens first .. first + count - 1 of x [, width] into panels over `tokens` tokens, from these
  // rows of x. `first` and `tokens` are sums of token_places(); places beyond `count` become zero.
  void pack_tokens(const float* x, int64_t width, int64_t tokens, int64_t first, int64_t count,
                   float* panels) const;
  // The same of dy, with bfloat16 alone, in as much memory: rows of W from a multiple of
  // panel_width() on begin at left_at().
  void pack_left(const float* dy, int64_t width, int64_t tokens, int64_t first, int64_t count,
                 float* left) const;
  const float* left_at(const float* left, int64_t row, int64_t tokens) const;
  void add_gradient(const WeightTile& tile, int64_t tokens) const;

 private:
  void multiply_rounded(const MatmulCall& call) const;

  const BfloatKernels* bfloat_;  // both null: floats
  const ByteKernels* byte_;
};

}  // namespace simile
