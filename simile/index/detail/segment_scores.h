// SPDX-License-Identifier: Apache-2.0
// All scores of queries with the documents of an index, in the order in which they were added: by
// their vectors (exact_search.h), by their words and by both (score_fusion.h). They are
// the bits that an evaluation of the same model, BM25 or hybrid has for a corpus of these documents
// in this order.
#pragma once

#include <string>
#include <vector>

#include "simile/index/detail/segment_set.h"
#include "simile/index/search_query.h"
#include "simile/index/search_settings.h"

namespace simile::detail {

class SegmentScores {
 public:
  // Reads and verifies the words of all segments if `by_words`. Segments and model must outlive it.
  SegmentScores(const SegmentSet& segments, const IndexedModel& model, bool by_words);

  int64_t documents() const { return begins_.back(); }
  // Of an index with passages, where each is a document here: the end of those of each document.
  const std::vector<int64_t>& document_ends() const { return document_ends_; }

  // queries [count, D]; scores [count, documents()].
  void score_vectors(const float* queries, int64_t count, double* scores) const;
  // scores [documents()]; 0 where a document shares no word with the query.
  void score_words(const std::string& query, double* scores) const;

  VectorKey vector(int64_t document) const;

 private:
  void find_document_ends();
  void score_word(const std::string& word, uint32_t count, double* scores) const;

  const std::vector<LiveSegment>& segments_;
  const IndexedModel& model_;
  std::vector<int64_t> begins_;  // the first document of each segment, and the end
  std::vector<int64_t> document_ends_;
  double mean_length_ = 0;
};

// The hits of each query, one for each document with its best passage, best first, equal ones in
// the order of adding. By words alone only documents that share one with the query are found.
// `queries` has what the mode needs. `allowed`: which documents may be hits, in the order of adding
// (its filter is not looked at); null: all.
std::vector<std::vector<IndexHit>> search_segments(const SegmentSet& segments,
                                                   const IndexedModel& model,
                                                   const SearchQueries& queries, int64_t top_k,
                                                   const SearchSettings& settings,
                                                   const std::vector<char>* allowed);

// Search by vectors alone, with the passages of a document as one hit.

// The hits of SegmentSet::search(); of an index with passages the best passage of each document,
// in the order of all passages. `exact`: without the graph.
std::vector<std::vector<IndexHit>> search_vectors(const SegmentSet& segments,
                                                  const IndexedModel& model,
                                                  const Matrix<float>& queries, int64_t top_k,
                                                  bool exact);

}  // namespace simile::detail
