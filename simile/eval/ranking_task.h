// SPDX-License-Identifier: Apache-2.0
// Retrieval: rank the corpus, or the judged documents, for each query. Metrics as named in the
// options, defined in simile/metric/ranking.h.
//
// Only queries with a relevant document are ranked; the others are left out and counted in the
// notes. `examples` of the report is the number of queries that count. Ties are broken as `ties`
// says, also at the cut to `depth` documents.
//
// With judgements of other queries, `dev`, a hybrid (simile/eval/hybrid_scorer.h) ranks with the
// weight that is best on those by the first metric; the notes name it. Other scorers ignore it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/data/ranking_data.h"
#include "simile/eval/hybrid_scorer.h"
#include "simile/eval/predictions.h"
#include "simile/eval/report.h"
#include "simile/eval/task.h"
#include "simile/metric/ranking.h"

namespace simile {

struct RankingTaskOptions {
  std::vector<RankingMetric> metrics;
  Gain gain = Gain::kLinear;
  TieBreak ties = TieBreak::kTrecEval;
  bool judged_candidates = false;  // rank the judged documents of a query instead of the corpus
  int64_t depth = 1000;            // 0 keeps all
  bool exclude_self = false;       // rank no document that has the id of the query
};

// `dev` is of the same documents; its texts of them are not kept. Errors: ErrorKind::kInput when no
// query has a relevant document; ErrorKind::kRecipe when a metric looks further than `depth`, or
// when a query of dev is tested too.
std::unique_ptr<Task> make_ranking_task(const std::string& name, RankingData data,
                                        const RankingTaskOptions& options,
                                        std::optional<RankingData> dev);

// The rankings of a run file beside their judgements, of each judged query in the order of the
// judgements: empty where the run lacks the query. The rank column and other queries are ignored.
std::vector<JudgedRanking> judge_run(const std::string& run_path, const std::string& qrels_path,
                                     TieBreak ties);

// Scores a run file against judgements, as trec_eval -c does: a judged query that the run lacks
// counts with zeros (and is noted). Other than there, queries without a relevant document are left
// out of the mean. `predictions`, where given, gets the metrics of each query that counts and the
// rank of its first relevant document.
Report evaluate_run(const std::string& run_path, const std::string& qrels_path,
                    const std::vector<RankingMetric>& metrics, TieBreak ties,
                    Gain gain = Gain::kLinear, Predictions* predictions = nullptr);

// Adds to `report` the means, how many queries count, and notes of those that do not.
void add_ranking_metrics(const RankingScores& scores, Report& report);

// In the functions below queries[i] is a row of the data's queries, to which rankings[i], judged[i]
// and scores.per_query[i] belong.

// Writes the TREC run `path`.
void write_ranking(const std::string& path, const std::string& scorer, const RankingData& data,
                   const std::vector<int64_t>& queries, const std::vector<Ranking>& rankings);

Predictions make_query_table(const RankingData& data, const std::vector<int64_t>& queries,
                             const std::vector<Ranking>& rankings,
                             const std::vector<JudgedRanking>& judged, const RankingScores& scores);

}  // namespace simile
