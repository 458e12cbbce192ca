// SPDX-License-Identifier: Apache-2.0
// In what numbers two matrices are multiplied. Sums are in float with either.
#pragma once

namespace simile {

enum class ProductType {
  kFloat,
  kBfloat  // each number rounded to bfloat16, of 8 significant bits, first (bfloat_matrix.h)
};

}  // namespace simile
