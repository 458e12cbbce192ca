// SPDX-License-Identifier: Apache-2.0
// The graph of an index with the segments whose vectors are in it. Errors (kInput): it is missing
// or damaged, or of other segments.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simile/index/indexed_model.h"
#include "simile/index/search_index.h"
#include "simile/index/segment_file.h"
#include "simile/index/store_state.h"
#include "simile/neighbours/detail/graph.h"

namespace simile::detail {

using Segments = std::vector<std::shared_ptr<const Segment>>;

constexpr int64_t kNearest = 10;  // vectors that a graph's breadth and recall are of

// Segments of so many rows, and a last one of any number, can have a graph.
constexpr int kGraphShift = 16;
constexpr int64_t kFullSegment = int64_t{1} << kGraphShift;

// What the graph `number` of these segments belongs to.
std::string graph_owner(const IndexedModel& model, int64_t number, const Segments& segments);

// All vectors of the segments, verified.
VectorRows rows_of(const Segments& segments, const IndexedModel& model);

class SegmentGraph {
 public:
  // `segments`: those of the row. Reads and verifies the header.
  SegmentGraph(const std::string& path, const IndexedModel& model, const GraphRow& row,
               Segments segments);

  const GraphRow& row() const { return row_; }
  const Segments& segments() const { return segments_; }

  // The first call verifies the file and the vectors.
  const GraphWalker& walker() const;

 private:
  GraphRow row_;
  IndexedModel model_;
  Segments segments_;
  mutable std::mutex mutex_;
  mutable GraphFile file_;
  mutable VectorRows rows_;
  mutable std::unique_ptr<const GraphWalker> walker_;
};

}  // namespace simile::detail
