// SPDX-License-Identifier: Apache-2.0
// In what numbers two matrices are multiplied. What is not such a product is in float with each.
#pragma once

namespace simile {

enum class ProductType {
  kFloat,
  kBfloat,  // each number rounded to bfloat16, of 8 significant bits, first (bfloat_matrix.h)
  kByte     // rounded to bytes with a scale a row, sums exact (byte_kernels.h): for inference alone
};

}  // namespace simile
