// SPDX-License-Identifier: Apache-2.0
// Lloyd's k-means, on a sample of the rows, the same bits for any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/core/random.h"

namespace simile::detail {

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

}  // namespace simile::detail
