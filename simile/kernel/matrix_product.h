// SPDX-License-Identifier: Apache-2.0
// The number types of matrix products, and matrices packed for many products.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/memory.h"

namespace simile {

// Everything else is computed in float with each of them, but for attention to long texts
// in inference (encoder_forward.h).
enum class ProductType {
  kFloat,
  kBfloat,  // each number rounded to bfloat16, of 8 significant bits, first
  kByte     // rounded to bytes with a scale a row, sums exact (byte_kernels.h): for inference alone
};

// The names of ProductType, in its order: fp32, bf16, int8.
const std::vector<std::string>& precision_names();

// Errors (kRecipe): none of these names.
ProductType parse_precision(const std::string& name);

// The type of products on the CPU. Errors (kRecipe): an unknown name, or one that this processor
// has no instructions for; the message lists those it can compute.
ProductType choose_precision(const std::string& name);

// How the numbers of a matrix B [k, n] lie.
enum class MatrixLayout {
  kColumns,  // [n, k]: column after column, as a linear layer keeps W of y = x W^T
  kRows,     // [k, n]: row after row
};

struct BfloatKernels;
struct ByteKernels;
struct MatmulCall;

// Some rows of one matrix's gradient: w [rows, n] += dy^T x over `tokens` tokens.
struct WeightTile {
  const float* dy;  // the columns of these rows: [tokens, lda], or with bfloat16 packed
  int64_t lda;
  const float* panels;  // of x
  float* w;
  int64_t rows, n;
};

// Matrix products in each type of numbers: how the matrix on the right is packed as panels, and
// products with it. Memory is floats with every type.
//
//   forward    y = x W^T + b: pack_rows(), multiply()
//   backward   dx = dy W: pack_columns(), multiply()
//   gradients  dW += dy^T x, over all tokens: add_gradient()
//
// Bytes are for forward alone. One thread each. A row of a product has the same bits whatever rows
// and columns are computed beside it, by instruction set (vector_kernels.h, ...).
class MatrixProducts {
 public:
  // Errors: kFailed for bfloat16 on a processor without instructions for it.
  explicit MatrixProducts(ProductType type = ProductType::kFloat);
  explicit MatrixProducts(const BfloatKernels* kernels) : bfloat_(kernels), byte_(nullptr) {}

  bool is_rounded() const { return bfloat_ != nullptr; }  // to bfloat16
  // For products of two results, which nobody packs beforehand: null for floats.
  const BfloatKernels* rounded() const;
  int64_t panel_width() const;                 // columns
  int64_t token_places(int64_t tokens) const;  // that panels over tokens have for a part of them

  // Floats that panels of B [k, n] take; columns from n on (a multiple of panel_width()) follow.
  int64_t panel_floats(int64_t n, int64_t k) const;
  // From w [n, k], or from b [k, n].
  void pack_rows(const float* w, int64_t n, int64_t k, int64_t ldw, float* panels) const;
  void pack_columns(const float* b, int64_t n, int64_t k, int64_t ldb, float* panels) const;
  // Only for bytes: from the bytes that represent w [n, k].
  void pack_bytes(const int8_t* numbers, const float* scales, int64_t n, int64_t k,
                  float* panels) const;
  // With bytes there is no accumulate.
  void multiply(const MatmulCall& call) const;

  // Tokens first .. first + count - 1 of x [, width] into panels over `tokens` tokens, from these
  // rows of x, ldx apart. `first` and `tokens` are sums of token_places(); places beyond are zero.
  void pack_tokens(const float* x, int64_t ldx, int64_t width, int64_t tokens, int64_t first,
                   int64_t count, float* panels) const;
  // The same of dy, with bfloat16 alone, in as much memory: rows of W from a multiple of
  // panel_width() on begin at panel_floats(row, tokens).
  void pack_left(const float* dy, int64_t width, int64_t tokens, int64_t first, int64_t count,
                 float* left) const;
  void add_gradient(const WeightTile& tile, int64_t tokens) const;

 private:
  void multiply_rounded(const MatmulCall& call) const;

  const BfloatKernels* bfloat_;  // both null: floats
  const ByteKernels* byte_;
};

// A matrix B [k, n] in the order in which the blocked product reads it, for many products A B, in
// floats or in bfloat16: then B is rounded, and A on the way; sums are floats.
//
// The bits equal MatrixProducts', with any number of threads. Errors: kFailed without memory.
class PackedMatrix {
 public:
  static constexpr int64_t kColumnBlock = 256;  // columns are chosen from a multiple of it on
  static constexpr int64_t kRowBlock = 128;     // set_rows() starts at a multiple of it

  PackedMatrix(const float* b, int64_t n, int64_t k, MatrixLayout layout,
               const MatrixProducts& products = MatrixProducts());
  // Room for n columns, or k rows, that set_columns(), or set_rows(), gives.
  PackedMatrix(int64_t n, int64_t k, const MatrixProducts& products = MatrixProducts());

  int64_t columns() const { return n_; }

  // Columns first .. first + count - 1 from `b` [count, k].
  void set_columns(int64_t first, int64_t count, const float* b);
  // Rows first .. first + count - 1 of B, a whole number of blocks or the last, from `b`
  // [count, n] with rows ldb apart. Different rows may be set by several threads.
  void set_rows(int64_t first, int64_t count, const float* b, int64_t ldb);

  // c [m, n] = a [m, k] B + bias [n], or without bias where it is null. All threads.
  void multiply(const float* a, int64_t m, const float* bias, float* c) const;

  // The same only for columns first .. first + count - 1; `bias` is that of the first: c[i * stride
  // + j] for j < count. One thread.
  void multiply_columns(const float* a, int64_t m, int64_t first, int64_t count, const float* bias,
                        float* c, int64_t stride) const;

  // c = a B of rows of a that lie lda apart and of c ldc apart. One thread.
  void multiply_rows(const float* a, int64_t lda, int64_t m, float* c, int64_t ldc) const;
  // The same of a given transposed, [k, m]; with floats alone.
  void multiply_transposed(const float* a, int64_t lda, int64_t m, float* c, int64_t ldc) const;

 private:
  MatrixProducts products_;
  int64_t n_, k_;
  FloatBuffer own_;
  std::optional<LentFloats> lent_;  // in place of own_ with bfloat16, which training packs anew
  float* panels_;
};

// Errors (kRecipe): this processor has no instructions for products of bfloat16; the message begins
// with `where`, says what it has and ends with what to do.
void check_bfloat_products(const std::string& where,
                           const std::string& advice = "leave it at fp32");

}  // namespace simile
