// SPDX-License-Identifier: Apache-2.0
// The segments of an index, opened and searched, and their documents. Errors (kInput): one is missing or damaged.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/matrix.h"
#include "simile/index/detail/segment_graph.h"
#include "simile/index/document_store.h"
#include "simile/index/indexed_model.h"
#include "simile/index/store_state.h"

namespace simile::detail {

// Opens segments once for all who read or change an index; may be used by several threads.
class SegmentCache {
 public:
  SegmentCache(std::string folder, IndexedModel model);

  // Those of `rows`, in their order; forgets all others.
  Segments open(const std::vector<SegmentRow>& rows);
  // The graph that the state names, of its segments, which are open; null: it has none.
  std::shared_ptr<const SegmentGraph> open_graph(const StoreState& state, const Segments& segments);

 private:
  std::shared_ptr<const Segment> open_one(const SegmentRow& row) const;

  std::string folder_;
  IndexedModel model_;
  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<const Segment>> open_;
  std::shared_ptr<const SegmentGraph> graph_;
};

struct IndexHit {
  VectorKey vector;
  double score = 0;
  std::optional<double> by_vector, by_words;  // as in SearchHit
};

// Errors (kInput): vectors of another size than the index's.
void check_dimension(const Matrix<float>& queries, const IndexedModel& model);

// A segment without the rows whose documents are gone.
class LiveSegment {
 public:
  using Rows = std::vector<int64_t>;

  // `removed`: its removed keys, rising. What `earlier` knows of the same segment is shared.
  LiveSegment(std::shared_ptr<const Segment> segment, const std::vector<int64_t>& removed,
              const LiveSegment* earlier);

  // The i of `live` with allowed[i].
  LiveSegment(const LiveSegment& live, const char* allowed);

  const Segment& segment() const { return *segment_; }
  int64_t size() const {
    return rows_ == nullptr ? segment_->size() : static_cast<int64_t>(rows_->size());
  }
  const int64_t* rows() const { return rows_ == nullptr ? nullptr : rows_->data(); }
  int64_t row(int64_t i) const { return rows_ == nullptr ? i : (*rows_)[static_cast<size_t>(i)]; }
  VectorKey vector(int64_t i) const { return segment_->vector(row(i)); }
  int64_t find(int64_t row) const;  // the i with row(i); -1: it was removed

 private:
  std::shared_ptr<const Segment> segment_;
  std::shared_ptr<const Rows> rows_;  // null: all
};

// The segment whose keys have this one among them, and its row there; -1: none has it.
struct FoundVector {
  const Segment* segment = nullptr;
  int64_t row = -1;
};

// All vectors of one generation, in the order in which they were added. Never changes.
class SegmentSet {
 public:
  // `segments`: those of the snapshot. `earlier`: of another generation; may be null. `graph`: of
  // the first of them; may be null.
  SegmentSet(const Segments& segments, const StoreSnapshot& snapshot, const SegmentSet* earlier,
             std::shared_ptr<const SegmentGraph> graph);

  int64_t generation() const { return generation_; }

  // Without the documents that are not allowed, of which there is one for each, in their order.
  SegmentSet only(const std::vector<char>& allowed) const;

  // queries [q, D]. The hits that exact_search() finds in one array of all vectors, to the bit, or,
  // unless `exact` and by a graph, most of them; equal scores come in the order of adding. Vectors
  // are verified before their first search.
  std::vector<std::vector<IndexHit>> search(const Matrix<float>& queries, int64_t top_k,
                                            const IndexedModel& model, bool exact) const;

  const std::vector<LiveSegment>& segments() const { return segments_; }
  std::vector<VectorKey> vectors() const;  // of all rows
  FoundVector find(int64_t key) const;     // the documents of the row may be gone
  // Whether the document of a row of the graph is there (and allowed).
  bool is_live(int64_t row_of_graph) const;
  void verify_vectors() const;
  // Of the graph too.
  void verify_all() const;

 private:
  // Some queries of a search.
  struct Block {
    const float* queries;
    int64_t count, top_k;
    const IndexedModel& model;
    int64_t breadth;  // of a walk through the graph; 0: none
  };
  using Hits = std::vector<std::vector<IndexHit>>;  // of each query

  SegmentSet(int64_t generation, std::shared_ptr<const SegmentGraph> graph)
      : generation_(generation), graph_(std::move(graph)) {}
  // Of the documents that the graph has.
  int64_t size_of_graph() const;
  int64_t choose_breadth(int64_t top_k) const;
  void search_block(const Block& block, Hits& results) const;
  // Adds the hits of the segments in [first, second).
  void scan(const Block& block, std::pair<size_t, size_t> range, Hits& hits) const;
  void walk(const Block& block, Hits& hits) const;

  int64_t generation_;
  std::vector<LiveSegment> segments_;
  std::shared_ptr<const SegmentGraph> graph_;
};

FoundVector find_vector(const Segments& segments, int64_t key);

// Calls take(i, document, passage) for each i of `live`, whose vector is that of the passage.
// Returns the key of the first document that is missing or not the one of its vector, if any.
using TakeLive = std::function<void(int64_t i, const Document& document, int64_t passage)>;
std::optional<int64_t> for_each_live(const DocumentStore& store, const LiveSegment& live,
                                     const TakeLive& take);

// The same for one i; whether it was taken.
bool take_live(const DocumentStore& store, const LiveSegment& live, int64_t i,
               const TakeLive& take);

}  // namespace simile::detail
