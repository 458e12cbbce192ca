// SPDX-License-Identifier: Apache-2.0
// The segments of an index, searched, and their documents. Errors (kInput): missing or damaged.
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
#include "simile/index/search_query.h"
#include "simile/index/store_state.h"

namespace simile::detail {

// Opens segments once for all readers and writers of an index; may be used by several threads.
class SegmentCache {
 public:
  SegmentCache(std::string folder, IndexedModel model);

  // Opens the segments of `rows`, in their order; forgets all others.
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
  std::shared_ptr<const ScoreExplanation> explanation = nullptr;
};
using IndexHits = std::vector<IndexHit>;  // of one query

class WordSearch;

// A segment without the rows whose documents are gone.
class LiveSegment {
 public:
  using Rows = std::vector<int64_t>;

  // `removed`: its removed keys, rising. Data that `earlier` has of the same segment is shared.
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

  // The number of words of the live rows, and of live rows with a word, counted once. Both read the
  // segment's words. Not for an allowed part.
  int64_t total_length() const;
  int64_t rows_with(int64_t word) const;

 private:
  std::shared_ptr<const Segment> segment_;
  std::shared_ptr<const Rows> rows_;  // null: all
  struct WordCounts;
  const WordCounts& word_counts() const;
  std::shared_ptr<WordCounts> word_counts_;  // of rows_; null where that is
};

// The segment whose keys have this one among them, and its row there; -1: none has it.
struct FoundVector {
  const Segment* segment = nullptr;
  int64_t row = -1;
  int64_t number = 0;  // of the segment in its list, from 0
};

// A walk through the graph that keeps `breadth` candidates for ten hits (0: vectors are scanned),
// and passes by a node for each query, as if the graph did not have it (null: none).
struct CandidateWalk {
  int64_t breadth = 0;
  const uint32_t* without = nullptr;
};

// All vectors of one generation, in the order of adding. Never changes. Row numbers rise in this
// order, in the graph too: s << kGraphShift is the first row of segment s.
class SegmentSet {
 public:
  // `segments`: those of the snapshot. `earlier`: of another generation; may be null. `graph`: of
  // the first of them; may be null. `model` must outlive it.
  SegmentSet(const IndexedModel& model, const Segments& segments, const StoreSnapshot& snapshot,
             const SegmentSet* earlier, std::shared_ptr<const SegmentGraph> graph);

  const IndexedModel& model() const { return *model_; }
  int64_t generation() const { return generation_; }
  int64_t metadata_generation() const { return metadata_generation_; }  // see StoreState

  // A set of the allowed documents; `allowed` has one entry per document, in their order.
  SegmentSet only(const std::vector<char>& allowed) const;

  // queries [q, D]. The hits that exact_search() finds in one array of all vectors, to the bit, or,
  // unless `exact` and by a graph, most of them; equal scores come in the order of adding. Vectors
  // are verified before their first search. Errors (kInput): queries of another size.
  std::vector<IndexHits> search(const Matrix<float>& queries, int64_t top_k, bool exact) const;

  // A longer list of hits, by the numbers of their rows, that a search for top_k continues with:
  // `least` of them, or all candidates of a walk.
  std::vector<std::vector<Hit>> search_nearest(const Matrix<float>& queries, int64_t top_k,
                                               int64_t least, const CandidateWalk& walk) const;
  CandidateWalk own_walk() const { return {graph_ == nullptr ? 0 : graph_->row().fused_breadth}; }

  // scores [count, size()] of queries [count, D], and of one query with the rows of these numbers,
  // which rise.
  void score(const float* queries, int64_t count, double* scores) const;
  void score_rows(const float* query, const std::vector<int64_t>& rows, double* scores) const;

  // Reads and verifies the words of all segments when it is first called.
  const WordSearch& words() const;

  const std::vector<LiveSegment>& segments() const { return segments_; }
  int64_t size() const;                    // documents, or passages
  std::vector<VectorKey> vectors() const;  // of all rows
  VectorKey vector(int64_t row) const {
    return segments_[static_cast<size_t>(row >> kGraphShift)].segment().vector(row_within(row));
  }
  static int64_t row_within(int64_t row) { return row & (kFullSegment - 1); }
  FoundVector find(int64_t key) const;  // the documents of the row may be gone
  int64_t row_of(int64_t key) const;    // the number of the row that has the key, which is there
  // Whether the document of a row is there (and allowed).
  bool is_live(int64_t row) const {
    return segments_[static_cast<size_t>(row >> kGraphShift)].find(row_within(row)) >= 0;
  }
  void check_queries(const Matrix<float>& queries) const;  // errors (kInput): their size is another
  void verify_vectors() const;
  // The graph too.
  void verify_all() const;

 private:
  struct Queries {
    const float* vectors;
    int64_t count, top_k;
    CandidateWalk walk;  // its breadth is of this search; 0: none
  };
  using Found = std::vector<std::vector<Hit>>;  // of each query
  struct Words;

  // The number of documents in the graph that are there.
  int64_t size_of_graph() const;
  // The breadth of a walk with `of_ten` candidates for ten hits, and `least`; 0: a scan costs less.
  int64_t choose_breadth(int64_t top_k, int64_t of_ten, int64_t least) const;
  Found find_best(const Matrix<float>& vectors, Queries queries) const;
  // Adds the hits of the segments in [first, second).
  void scan(const Queries& queries, std::pair<size_t, size_t> range, Found& hits) const;
  void walk(const Queries& queries, Found& hits) const;

  const IndexedModel* model_;
  int64_t generation_, metadata_generation_ = 0;
  std::vector<LiveSegment> segments_;
  std::shared_ptr<const SegmentGraph> graph_;
  std::shared_ptr<Words> words_;
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
