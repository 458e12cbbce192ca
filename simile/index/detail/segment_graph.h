// SPDX-License-Identifier: Apache-2.0
// The graph of an index with the segments whose vectors are in it: when an index gets one, how far
// a search by it has to look, and the loss from stored numbers. Errors (kInput): it is missing or
// damaged, or of other segments.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
#include "simile/index/search_settings.h"
#include "simile/index/segment_file.h"
#include "simile/index/store_state.h"
#include "simile/neighbours/detail/graph.h"

namespace simile::detail {

class SegmentSet;

using Segments = std::vector<std::shared_ptr<const Segment>>;

constexpr int64_t kNearest = 10;  // vectors that a graph's breadth and recall are of

// A graph covers segments of 2^kGraphShift rows each, and a last one of any size.
constexpr int kGraphShift = 16;
constexpr int64_t kFullSegment = int64_t{1} << kGraphShift;

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

// Whether an index of these segments and removed rows should get a new graph. If it has one that
// must go, `state` no longer names it. A graph stays while fewer than 50,000 vectors were added and
// less than a quarter of its own removed. By "auto" an index that is searched by words alone gets
// none.
bool needs_graph(const StoreState& state, const SearchSettings& settings);

// Builds the graph `number` of all segments of the snapshot and measures with vectors of its own
// how far a search must look to find the share that the options ask for, with a likelihood of 97 %.
// If none reaches it, nothing is kept but under "always". Searches by vectors and words are
// measured too, with the texts in `documents`: they should find the same share, but at least 99 %,
// of the hits of a search of all documents. If no walk finds them, such searches scan the vectors.
std::optional<GraphRow> make_graph(const std::string& folder, const IndexedModel& model,
                                   const StoreSnapshot& snapshot, const Segments& segments,
                                   int64_t number, const DocumentStore& documents,
                                   const SearchSettings& settings, const GraphProgress& progress);

// The mean share of the ten nearest vectors that a search of `stored` finds for up to 1,000 vectors
// of its own, at even distances, each in fp32 and without itself, rounded down to four digits.
// `floats` has the same vectors under the same keys in fp32. None for fewer than two vectors.
std::optional<double> measure_stored_recall(const SegmentSet& stored, const SegmentSet& floats);

}  // namespace simile::detail
