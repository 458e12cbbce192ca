// SPDX-License-Identifier: Apache-2.0
// Clusters of embeddings, as batch orders need them.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/random.h"

namespace simile {

// The cluster, 0 .. clusters - 1, of every row of `vectors` [n, D], by k-means: centres are trained
// on min(n, 256 * clusters) rows drawn at random, at most 20 rounds of Lloyd's algorithm from a
// k-means++ start (random rows for more than 1,024 clusters); then every row joins its nearest
// centre by Euclidean distance in floats, the lower one of equals. No more clusters than rows. A
// number may stay unused, surely so when there are fewer different vectors than clusters.
//
// The same bits for any number of threads. Memory: the sample and its packed centres. Time: about
// (256 * clusters * 20 + n) * clusters * D / 1.5e11 seconds on two cores with AVX-512, at most.
// Errors (kFailed): a vector that is not finite, fewer than 1 cluster, 2^31 rows or more.
std::vector<int32_t> cluster_vectors(const Matrix<float>& vectors, int64_t clusters, uint64_t seed);

namespace detail {

// Lloyd's k-means, on a sample of the rows, the same bits for any number of threads.

struct KmeansOptions {
  int64_t centres;          // at most the rows
  int64_t rows_per_centre;  // size of the sample
  int64_t iterations;       // at most; fewer once no row changes its centre
};

// Up to 1,024 centres start at rows chosen by k-means++ (each with a probability in proportion to
// the squared distance to the nearest centre so far), more at random rows. A centre that loses all
// rows moves to the row farthest from its own centre. Sums are in double, in the rows' order.
Matrix<float> train_centres(const Matrix<float>& vectors, const KmeansOptions& options,
                            RandomStream& stream);

struct NearestCentres {
  std::vector<int32_t> centre;  // equally near: the lower
  std::vector<float> score;     // q . x - |x|^2 / 2 of that centre x
};
NearestCentres nearest_centres(const Matrix<float>& vectors, const Matrix<float>& centres);

// The rows of each group 0 .. groups - 1, in their order: of group g, rows[offsets[g]] ..
// rows[offsets[g + 1] - 1].
struct GroupedRows {
  std::vector<int32_t> rows;
  std::vector<int64_t> offsets;
};
GroupedRows group_rows(const std::vector<int32_t>& group_of, int64_t groups);

// `count` different numbers below `rows`, rising.
std::vector<int32_t> sample_rows(int64_t rows, int64_t count, RandomStream& stream);

// Throws kFailed, naming `work`, for more than 2^31 - 1 rows and for a number that is not finite or
// beyond 1e15, whose square would not be.
void check_vectors(const Matrix<float>& vectors, const char* work);

}  // namespace detail
}  // namespace simile
