// SPDX-License-Identifier: Apache-2.0
// How often two tokens stand near each other, and what that says beyond their frequencies; as a
// square sparse matrix that can be multiplied from both sides, and its leading singular vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/derive/ppmi_start.h"

namespace simile::detail {

// Row i of M, and column i of M in the same places: what is no zero in one of them stands in both.
struct SparseRow {
  std::vector<int32_t> places;
  std::vector<float> row;     // M[i, places[k]]
  std::vector<float> column;  // M[places[k], i]
};
using SparseMatrix = std::vector<SparseRow>;  // [n] rows

// Called after each piece of work with what is done and all there is.
using WorkDone = std::function<void(int64_t done, int64_t total)>;

// M x [n, l], or M^T x. The sums of a row are in the order of `places`, whatever the number of
// threads. All threads; memory: 64 columns of x.
Matrix<float> multiply(const SparseMatrix& m, bool transposed, const Matrix<float>& x);

struct SvdOptions {
  int64_t rank = 0;        // k, at most n
  int64_t oversample = 0;  // more columns than k that the iteration works on, as far as n allows
  int64_t iterations = 0;
  uint64_t seed = 0;
};

struct TruncatedSvd {
  Matrix<float> left;          // U [n, k]; columns of singular values that are 0 are 0 or arbitrary
  std::vector<double> values;  // [k], falling, >= 0
};

// Of M the leading left singular vectors and values, by randomised subspace iteration (Halko,
// Martinsson and Tropp, "Finding Structure with Randomness", SIAM Review 2011, algorithms 4.4 and
// 5.1): a random start, each product made orthonormal (Cholesky's factor of the inner products,
// with a small shift, Fukaya et al. 2020), and the eigenvectors of the small problem. The largest
// number of each vector is positive. Same bits with any number of threads.
TruncatedSvd truncated_svd(const SparseMatrix& m, const SvdOptions& options, const WorkDone& done);

struct PpmiMatrix {
  std::vector<int32_t> tokens;  // the token of each row: most frequent first, then lowest id first
  SparseMatrix matrix;
};

// The matrix of ppmi_start.h over the tokens that occur. One row after the other is counted from
// the places of its token, so that no pair is held before its row is done.
PpmiMatrix count_ppmi(const PieceCorpus& corpus, const PpmiOptions& options, const WorkDone& done);

}  // namespace simile::detail
