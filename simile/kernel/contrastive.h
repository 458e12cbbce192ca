// SPDX-License-Identifier: Apache-2.0
// The part of a batch-softmax contrastive loss that grows with the square of the batch: from rows u
// [m, D] and v [n, D], n >= m, and a scale, with scores s_ij = scale * u_i . v_j,
//
//   row_i    = s_ii - log sum_{j < n} exp s_ij
//   column_j = s_jj - log sum_{i < m} exp s_ij     for j < m
//
// and its gradients of u, v and the scale. It works on strips of scores, a constant number of rows
// each: sums run in the order of the strips, so the bits do not depend on the number of threads.
// One matrix [m, n] of floats is kept from terms() to gradients(); with products in bfloat16, where
// making the scores again is cheap, none, and gradients() has one of bfloat16.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simile/core/memory.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

struct ContrastiveInput {
  int64_t m, n, D;
  const float* left;     // u [m, D]
  const float* right;    // v [n, D]
  float scale;           // not 0
  bool rows, columns;    // which terms are wanted
  ProductType products;  // of the three matrix products; all else is in float
};

// Gradients of the terms; null for those that are not wanted.
struct TermGradients {
  const float* rows;     // [m]
  const float* columns;  // [m]
};

class ContrastiveTerms {
 public:
  // The arrays that `input` points to must outlive this object and not change. Errors: kFailed
  // without memory, and for products that this processor has no instructions for.
  explicit ContrastiveTerms(const ContrastiveInput& input);

  // rows [m] and columns [m] are written, where they are wanted.
  void terms(float* rows, float* columns);

  // Writes the gradients of u [m, D] and v [n, D]; returns that of the scale. After terms().
  double gradients(const TermGradients& of_terms, float* left, float* right);

 private:
  template <typename Work>
  void for_each_strip(const Work& work);
  void multiply_rounded(const PackedMatrix& gradient, float* right) const;

  ContrastiveInput input_;
  MatrixProducts products_;
  int64_t stride_;                    // floats from row to row of the scores
  std::optional<LentFloats> scores_;  // [m, stride]; none with bfloat16
  bool has_scores_ = false;
  std::vector<float> row_log_sums_, column_log_sums_;  // [m]
};

}  // namespace simile
