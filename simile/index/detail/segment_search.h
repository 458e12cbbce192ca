// SPDX-License-Identifier: Apache-2.0
// Search of an index's segments by vectors (exact_search.h), by words (word_search.h) and by both
// (score_fusion.h). Scores are the bits that an evaluation of the same model, BM25 or hybrid has
// for a corpus of these documents in the order of adding.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/index/detail/segment_set.h"
#include "simile/index/search_query.h"
#include "simile/index/search_settings.h"

namespace simile::detail {

// The hits of each query, one for each document with its best passage, best first, equal ones in
// the order of adding. By words alone only documents that share one with the query are found.
// `allowed`: which documents may be hits, in the order of adding (the filter of `queries` is not
// looked at); null: all. `walk`: replaces the graph's own. Errors (kUsage): queries that lack the
// vectors or words that the mode needs.
std::vector<IndexHits> search_segments(const SegmentSet& segments, const SearchQueries& queries,
                                       int64_t top_k, const SearchSettings& settings,
                                       const std::vector<char>* allowed,
                                       const CandidateWalk* walk = nullptr);

// Whether the settings' rule fuses a document's scores without those of all others.
bool fuses_candidates(const SearchSettings& settings, const IndexedModel& model);

// Search by vectors and words without a score of every document. The candidates are the best
// documents by vectors and the best by words; both scores of each of them are exact. No other
// document scores more than
//
//   bound = fused(last vector score of the one list, last word score of the other)
//
// because the rules cosine and max never fall when one of the scores rises. So hits above the bound
// are those of a search that scores all documents, to the bit, as far as the list by vectors has no
// gaps: none if the vectors were scanned, some if a graph was walked.
//
// Sets the hits of each query, and returns the queries whose hits are not all above the bound.
std::vector<int64_t> search_candidates(const SegmentSet& segments, const SearchQueries& queries,
                                       int64_t top_k, const SearchSettings& settings,
                                       const std::vector<char>* allowed, CandidateWalk walk,
                                       std::vector<IndexHits>& results);

// Passages that are looked at for a document, at first.
constexpr int64_t kPassagesForEach = 4;

// Keeps the first passage of each document, and top_k of them.
void keep_documents(IndexHits& hits, int64_t top_k);

// 1 for each vector, in the order of adding, that one query finds if its top_k has no limit: those
// `allowed` of enough similarity; by words alone, those that share a word with it.
std::vector<char> find_all(const SegmentSet& segments, const SearchQueries& query,
                           const SearchSettings& settings, const std::vector<char>* allowed);

// Gives each hit of each query its explanation.
void explain_hits(const SegmentSet& segments, const SearchQueries& queries,
                  const SearchSettings& settings, std::vector<IndexHits>& hits);

}  // namespace simile::detail
