// SPDX-License-Identifier: Apache-2.0
// Search by vectors alone, with the passages of a document as one hit.
#pragma once

#include <vector>

#include "simile/index/detail/segment_set.h"

namespace simile::detail {

// The hits of SegmentSet::search(); of an index with passages the best passage of each document,
// in the order of all passages. `exact`: without the graph.
std::vector<std::vector<IndexHit>> search_vectors(const SegmentSet& segments,
                                                  const IndexedModel& model,
                                                  const Matrix<float>& queries, int64_t top_k,
                                                  bool exact);

}  // namespace simile::detail
