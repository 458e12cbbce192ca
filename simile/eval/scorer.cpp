// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/scorer.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile {
namespace {

bool is_better(const RankedDocument& a, const RankedDocument& b) {
  return a.score != b.score ? a.score > b.score : a.document < b.document;
}

}  // namespace

HeadOutput Scorer::run_head(const std::string& head, const std::vector<std::string>&,
                            const std::vector<std::string>&) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} has no heads{}; a head is trained with the model, by a recipe whose "
                          "objective has one",
                          name(), head.empty() ? "" : ", so none called '" + head + "'"));
}

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
