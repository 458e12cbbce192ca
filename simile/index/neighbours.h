// SPDX-License-Identifier: Apache-2.0
// The nearest neighbours of every row among the other rows, as batch orders need them.
#pragma once

#include <cstdint>

#include "simile/core/matrix.h"

namespace simile {

// Row i holds the numbers of the `top_n` rows of `vectors` [n, D] nearest to row i (without i
// itself) by Euclidean distance, nearest first, equal distances by lower number. Fewer columns, n -
// 1, when there are not that many rows. Exact; the same bits for any number of threads. Memory: the
// result and a megabyte or so per thread. Time: about n^2 D / 3e10 seconds on two cores with
// AVX-512. Errors (kFailed): a vector that is not finite.
Matrix<int32_t> nearest_neighbours(const Matrix<float>& vectors, int64_t top_n);

}  // namespace simile
