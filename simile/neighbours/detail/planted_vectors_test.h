// SPDX-License-Identifier: Apache-2.0
// Vectors for the tests of neighbours and clusters.
#pragma once

#include <cstdint>

#include "simile/core/matrix.h"
#include "simile/core/random.h"

namespace simile::detail {

// Row i is centre i % centres, a random point, plus normal noise of that size in each direction.
inline Matrix<float> planted_vectors(int64_t rows, int64_t cols, int64_t centres, double noise) {
  RandomStream stream(1, "planted");
  Matrix<float> points(centres, cols), vectors(rows, cols);
  for (float& value : points.values) value = static_cast<float>(stream.normal());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t d = 0; d < cols; ++d) {
      vectors.at(i, d) = points.at(i % centres, d) + static_cast<float>(noise * stream.normal());
    }
  }
  return vectors;
}

}  // namespace simile::detail
