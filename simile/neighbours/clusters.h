// SPDX-License-Identifier: Apache-2.0
// Clusters of embeddings, as batch orders need them.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

// The cluster, 0 .. clusters - 1, of every row of `vectors` [n, D], by k-means: centres are trained
// on min(n, 256 * clusters) rows drawn at random, at most 20 rounds of Lloyd's algorithm from a
// k-means++ start (random rows for more than 1,024 clusters); then every row joins the nearest
// centre by Euclidean distance (as floats have it), the lower one of equals. No more clusters than
// rows. A number may stay unused, surely so when there are fewer different vectors than clusters.
//
// The same bits for any number of threads. Memory: the sample and its packed centres. Time: about
// (256 * clusters * 20 + n) * clusters * D / 1.5e11 seconds on two cores with AVX-512, at most.
// Errors (kFailed): a vector that is not finite, fewer than 1 cluster, 2^31 rows or more.
std::vector<int32_t> cluster_vectors(const Matrix<float>& vectors, int64_t clusters, uint64_t seed);

}  // namespace simile
