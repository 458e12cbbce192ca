// SPDX-License-Identifier: Apache-2.0
// Makes the graph of vectors, by hnswlib.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "simile/neighbours/detail/graph_file.h"

namespace simile::detail {

// How many of the vectors are in the graph; may throw, which ends the work.
using BuildProgress = std::function<void(int64_t done, int64_t all)>;

// Writes the graph of `rows` (at least 1) to `path`; see graph_file.h. Returns the checksum of its
// header. Each vector is kept as bfloat16 while it is built, so it takes 2 D + 280 bytes of memory
// a vector. The same vectors give the same graph with one thread; with more, near vectors may be
// linked in another order, and what a search finds may differ by some.
std::string build_graph(const VectorRows& rows, const std::string& path, const std::string& owner,
                        const BuildProgress& progress);

}  // namespace simile::detail
