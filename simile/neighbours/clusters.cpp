// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "simile/core/error.h"
#include "simile/neighbours/detail/kmeans.h"

namespace simile {

std::vector<int32_t> cluster_vectors(const Matrix<float>& vectors, int64_t clusters,
                                     uint64_t seed) {
  detail::check_vectors(vectors, "clusters");
  SIMILE_CHECK(clusters >= 1, ErrorKind::kFailed,
               fmt::format("clusters: expected 1 or more of them, found {}", clusters));
  if (vectors.rows == 0) return {};
  RandomStream stream(seed, "clusters");
  const Matrix<float> centres =
      detail::train_centres(vectors, {std::min(clusters, vectors.rows), 256, 20}, stream);
  return detail::nearest_centres(vectors, centres).centre;
}

}  // namespace simile
