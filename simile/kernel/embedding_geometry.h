// SPDX-License-Identifier: Apache-2.0
// How vectors lie in their space, whatever they stand for. Rows need not have length 1: all but the
// principal shares are of their directions, and a row of zeros has none (its cosines are 0).
//
//   alignment    mean of |u - v|^2 over the pairs that belong together, 0 (equal) to 4
//   uniformity   log of the mean of exp(-2 |x - y|^2) over all pairs of rows, 0 (all alike) to -8;
//                lower is more uniform (both: Wang & Isola, 2020, with alpha = 2 and t = 2)
//   mean cosine  of all pairs of rows: near 0 where directions are spread, near 1 where vectors
//   fill
//                a narrow cone (anisotropy: Ethayarajh, 2019)
//   principal    the share of the variance along each of the first principal components
//
// The same bits with any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

// Of rows i of both, which are of equal shape; 0 without rows.
double alignment_of(const Matrix<float>& left, const Matrix<float>& right);

// Time rows^2 D. 0 for fewer than two rows.
double uniformity_of(const Matrix<float>& vectors);

// 0 for fewer than two rows.
double mean_cosine(const Matrix<float>& vectors);

// Falling, as many as there are dimensions; zeros where nothing varies.
std::vector<double> principal_shares(const Matrix<float>& vectors);

}  // namespace simile
