// SPDX-License-Identifier: Apache-2.0
// The inner products of a tall matrix's columns: X^T X of X [rows, columns].
//
// Each block of 256 rows is multiplied in single precision, and the blocks are added in double
// precision in an order that `rows` alone decides: the same bits with any number of threads. All
// threads. Memory: at most 16 matrices [columns, columns] of doubles.
#pragma once

#include <cstdint>

#include "simile/core/matrix.h"

namespace simile {

Matrix<double> gram_matrix(const float* x, int64_t rows, int64_t columns);

}  // namespace simile
