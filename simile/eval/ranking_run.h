// SPDX-License-Identifier: Apache-2.0
// Runs: rankings as TREC files and as tables of queries (simile/eval/predictions.h), what the task
// ranking leaves of what a scorer ranked, and the scores of a run that somebody else made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/ranking_data.h"
#include "simile/eval/predictions.h"
#include "simile/eval/report.h"
#include "simile/eval/scorer.h"
#include "simile/metric/ranking.h"

namespace simile {

// The rankings of a run file beside their judgements, of each judged query in the order of the
// judgements: empty where the run lacks the query. A query without judgements and the rank column
// are ignored.
std::vector<JudgedRanking> judge_run(const std::string& run_path, const std::string& qrels_path,
                                     TieBreak ties);

// Scores a run file against judgements, as trec_eval -c does: a judged query that the run lacks
// counts with zeros (and is noted). Other than there, queries without a relevant document are left
// out of the mean. `predictions`, where given, gets the metrics of each query that counts and the
// rank of its first relevant document.
Report evaluate_run(const std::string& run_path, const std::string& qrels_path,
                    const std::vector<RankingMetric>& metrics, TieBreak ties,
                    Gain gain = Gain::kLinear, Predictions* predictions = nullptr);

// Adds the means, how many queries count, and notes of those that do not.
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
