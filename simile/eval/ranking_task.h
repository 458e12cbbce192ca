// SPDX-License-Identifier: Apache-2.0
// Retrieval: rank the corpus, or the judged documents, for each query. Metrics as named in the
// options, defined in simile/metric/ranking.h.
//
// Only queries with a relevant document are ranked; the others are left out and counted in the
// notes. `examples` of the report is the number of queries that count. Ties are broken as `ties`
// says, also at the cut to `depth` documents.
//
// With judgements of other queries, `dev`, a hybrid (simile/eval/hybrid_scorer.h) ranks with the
// weight that is best on those by the first metric (simile/eval/hybrid_scorer.h), which the notes
// tell. For other scorers they change nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simile/data/ranking_data.h"
#include "simile/data/trec.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/task.h"
#include "simile/metric/ranking.h"

namespace simile {

struct RankingTaskOptions {
  std::vector<RankingMetric> metrics;
  Gain gain = Gain::kLinear;
  TieBreak ties = TieBreak::kTrecEval;
  bool judged_candidates = false;  // rank the judged documents of a query instead of the corpus
  int64_t depth = 1000;            // 0 keeps all
};

class RankingTask : public Task {
 public:
  // `dev` is of the same documents; its texts of them are not kept. Errors: ErrorKind::kInput when
  // no query has a relevant document; ErrorKind::kRecipe when a metric looks further than `depth`,
  // or when a query of dev is tested too.
  RankingTask(std::string name, RankingData data, RankingTaskOptions options,
              std::optional<RankingData> dev = std::nullopt);
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override { return data_.notes; }
  void tell_seen(const KeySet& texts) override;
  TestTexts texts() const override;

 private:
  // Of the queries that are ranked.
  struct Queries {
    std::vector<int64_t> rows;  // of the data
    std::vector<std::string> texts;
    std::vector<std::vector<int64_t>> candidates;  // empty for the whole corpus
  };

  Queries choose_queries(const RankingData& data) const;
  void check_dev() const;
  std::vector<Ranking> rank_hybrid(HybridScorer& hybrid, Report& report) const;
  std::vector<JudgedRanking> judge_all(const RankingData& data, const Queries& queries,
                                       const std::vector<Ranking>& rankings) const;

  // "map 63.50 of 190 queries with a document seen in training, 25.40 of the 149 others", or
  // nothing.
  std::string describe_seen(const std::vector<JudgedRanking>& judged) const;

  std::string name_;
  RankingData data_;  // documents in the order that breaks ties
  RankingTaskOptions options_;
  std::optional<RankingData> dev_;  // without documents
  Queries queries_, dev_queries_;
  std::vector<char> is_seen_;  // of queries_: has a relevant document seen; empty: not known
};

}  // namespace simile
