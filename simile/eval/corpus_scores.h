// SPDX-License-Identifier: Apache-2.0
// All scores of queries with a corpus, a few queries at a time: what a scorer ranks by, and what a
// hybrid of two scorers adds up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "simile/core/parallel.h"
#include "simile/core/threads.h"

namespace simile {

struct RankedDocument {
  int64_t document = 0;  // position in the corpus
  double score = 0;      // higher is better
};
using Ranking = std::vector<RankedDocument>;  // from best to worst

// The `depth` best of a stream of documents in bounded memory; a tie goes to the lower position.
class BestDocuments {
 public:
  explicit BestDocuments(int64_t depth) : depth_(depth) {}  // 0 keeps all
  void add(int64_t document, double score);
  Ranking take();  // from best to worst; leaves it empty

 private:
  int64_t depth_;
  Ranking heap_;  // worst on top once it is full
};

// Of the queries and the corpus it was made for. A score depends on its query and the corpus alone,
// not on what is asked for beside it; may be asked on several threads at once.
class CorpusScores {
 public:
  virtual ~CorpusScores() = default;

  virtual int64_t documents() const = 0;

  // scores[i * documents() + d] is that of query `first` + i, i < count, with document d.
  virtual void score(int64_t first, int64_t count, double* scores) const = 0;

  // scores[i] is that of the query with the document chosen[i].
  virtual void score_some(int64_t query, const std::vector<int64_t>& chosen,
                          double* scores) const = 0;

  // A search of the corpus finds the documents with a higher score than this.
  virtual double not_found() const { return -std::numeric_limits<double>::infinity(); }
};

// Queries first .. first + count - 1 of those that scores were made for.
struct QueryRange {
  int64_t first = 0, count = 0;
};

// Rankings of the queries in the range, as Scorer::rank() has them; `candidates` begins with those
// of the first. Threads over queries; holds up to 32 MiB of scores for each thread, or the scores
// of one query where those are more.
std::vector<Ranking> rank_by_scores(const CorpusScores& scores, QueryRange range,
                                    const std::vector<std::vector<int64_t>>& candidates,
                                    int64_t depth);

// For such loops: calls work(begin, end) for blocks of queries below `count`, on all threads, with
// as many in a block as have room with `documents` scores each.
template <typename Work>
void for_query_blocks(int64_t count, int64_t documents, const Work& work) {
  constexpr int64_t kScores = int64_t{1} << 22, kQueries = 32;
  const int64_t fair = (count + thread_count() - 1) / thread_count();
  const int64_t room = kScores / std::max<int64_t>(documents, 1);
  run_parallel_blocks(count, std::clamp<int64_t>(std::min(fair, room), 1, kQueries), work);
}

}  // namespace simile
