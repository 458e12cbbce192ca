// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/vector_search.h"

#include <algorithm>
#include <set>

namespace simile::detail {
namespace {

constexpr int64_t kPassagesForEach = 4;  // that are looked at for a document, at first

// Keeps the first passage of each document, and top_k of them.
void keep_documents(std::vector<IndexHit>& hits, int64_t top_k) {
  std::set<int64_t> seen;
  const auto is_out = [&](const IndexHit& hit) {
    return static_cast<int64_t>(seen.size()) == top_k ||
           !seen.insert(hit.vector.key / kMostPassages).second;
  };
  hits.erase(std::remove_if(hits.begin(), hits.end(), is_out), hits.end());
}

int64_t count_vectors(const SegmentSet& segments) {
  int64_t count = 0;
  for (const LiveSegment& live : segments.segments()) count += live.size();
  return count;
}

}  // namespace

std::vector<std::vector<IndexHit>> search_vectors(const SegmentSet& segments,
                                                  const IndexedModel& model,
                                                  const Matrix<float>& queries, int64_t top_k,
                                                  bool exact) {
  if (!model.passages.splits()) return segments.search(queries, top_k, model, exact);
  const int64_t all = count_vectors(segments);
  for (int64_t passages = top_k;;) {
    passages = std::min(all, passages * kPassagesForEach);
    auto results = segments.search(queries, passages, model, exact);
    for (auto& hits : results) keep_documents(hits, top_k);
    const bool enough = std::all_of(results.begin(), results.end(), [&](const auto& hits) {
      return static_cast<int64_t>(hits.size()) == top_k;
    });
    if (enough || passages == all) return results;
  }
}

}  // namespace simile::detail
