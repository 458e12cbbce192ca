// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/scorer.h"

#include <algorithm>

namespace simile {
namespace {

bool is_better(const RankedDocument& a, const RankedDocument& b) {
  return a.score != b.score ? a.score > b.score : a.document < b.document;
}

}  // namespace

void BestDocuments::add(int64_t document, double score) {
  const RankedDocument candidate{document, score};
  if (depth_ <= 0 || static_cast<int64_t>(heap_.size()) < depth_) {
    heap_.push_back(candidate);
    if (static_cast<int64_t>(heap_.size()) == depth_) {
      std::make_heap(heap_.begin(), heap_.end(), is_better);
    }
    return;
  }
  if (!is_better(candidate, heap_.front())) return;
  std::pop_heap(heap_.begin(), heap_.end(), is_better);
  heap_.back() = candidate;
  std::push_heap(heap_.begin(), heap_.end(), is_better);
}

Ranking BestDocuments::take() {
  std::sort(heap_.begin(), heap_.end(), is_better);
  return std::move(heap_);
}

}  // namespace simile
