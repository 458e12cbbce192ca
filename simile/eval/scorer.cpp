// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/scorer.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/parallel.h"
#include "simile/core/threads.h"

namespace simile {
namespace {

bool is_better(const RankedDocument& a, const RankedDocument& b) {
  return a.score != b.score ? a.score > b.score : a.document < b.document;
}

// Calls work(begin, end) for blocks of queries below `count`, on all threads, with
// as many in a block as have room with `documents` scores each.
template <typename Work>
void for_query_blocks(int64_t count, int64_t documents, const Work& work) {
  constexpr int64_t kScores = int64_t{1} << 22, kQueries = 32;
  const int64_t fair = (count + thread_count() - 1) / thread_count();
  const int64_t room = kScores / std::max<int64_t>(documents, 1);
  run_parallel_blocks(count, std::clamp<int64_t>(std::min(fair, room), 1, kQueries), work);
}

Ranking rank_candidates(const CorpusScores& scores, int64_t query,
                        const std::vector<int64_t>& candidates, int64_t depth) {
  std::vector<double> found(candidates.size());
  scores.score_some(query, candidates, found.data());
  BestDocuments best(depth);
  for (size_t i = 0; i < candidates.size(); ++i) best.add(candidates[i], found[i]);
  return best.take();
}

Ranking rank_all(const double* scores, int64_t documents, double not_found, int64_t depth) {
  BestDocuments best(depth);
  for (int64_t d = 0; d < documents; ++d) {
    if (scores[d] > not_found) best.add(d, scores[d]);
  }
  return best.take();
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

std::vector<Ranking> rank_by_scores(const CorpusScores& scores, QueryRange range,
                                    const std::vector<std::vector<int64_t>>& candidates,
                                    int64_t depth) {
  std::vector<Ranking> rankings(static_cast<size_t>(range.count));
  const int64_t documents = scores.documents();
  const bool whole_corpus = candidates.empty();
  for_query_blocks(range.count, documents, [&](int64_t begin, int64_t end) {
    std::vector<double> rows(static_cast<size_t>(whole_corpus ? (end - begin) * documents : 0));
    if (whole_corpus) scores.score(range.first + begin, end - begin, rows.data());
    for (int64_t q = begin; q < end; ++q) {
      rankings[static_cast<size_t>(q)] =
          whole_corpus
              ? rank_all(rows.data() + (q - begin) * documents, documents, scores.not_found(),
                         depth)
              : rank_candidates(scores, range.first + q, candidates[static_cast<size_t>(q)], depth);
    }
  });
  return rankings;
}

std::vector<Ranking> Scorer::rank(const std::vector<std::string>& queries,
                                  const std::vector<std::string>& corpus,
                                  const std::vector<std::vector<int64_t>>& candidates,
                                  int64_t depth) {
  if (queries.empty() || corpus.empty()) return std::vector<Ranking>(queries.size());
  const auto count = static_cast<int64_t>(queries.size());
  return rank_by_scores(*score_corpus(queries, corpus), {0, count}, candidates, depth);
}

std::unique_ptr<CorpusScores> Scorer::score_corpus(const std::vector<std::string>&,
                                                   const std::vector<std::string>&) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} ranks documents without scores of them all, so it cannot be a part "
                          "of a hybrid",
                          name()));
}

Matrix<float> Scorer::embed(const std::vector<std::string>&) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} compares texts without vectors, and task geometry is about vectors; "
                          "give a model",
                          name()));
}

HeadOutput Scorer::run_head(const std::string& head, const std::vector<std::string>&,
                            const std::vector<std::string>&) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} has no heads{}; a head is trained with the model, by a recipe whose "
                          "objective has one",
                          name(), head.empty() ? "" : ", so none called '" + head + "'"));
}

}  // namespace simile
