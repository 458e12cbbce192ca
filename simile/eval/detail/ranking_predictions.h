// SPDX-License-Identifier: Apache-2.0
// What the task ranking leaves of what a scorer ranked (simile/eval/predictions.h). Of queries[i],
// a row of the data's queries: rankings[i], judged[i] and scores.per_query[i].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/ranking_data.h"
#include "simile/eval/predictions.h"
#include "simile/eval/scorer.h"
#include "simile/metric/ranking.h"

namespace simile {

// Writes the TREC run `path`.
void write_ranking(const std::string& path, const std::string& scorer, const RankingData& data,
                   const std::vector<int64_t>& queries, const std::vector<Ranking>& rankings);

Predictions make_query_table(const RankingData& data, const std::vector<int64_t>& queries,
                             const std::vector<Ranking>& rankings,
                             const std::vector<JudgedRanking>& judged, const RankingScores& scores);

// Of rankings whose documents are not known. `judged` has each query that counts once, in the order
// of the scores; others may stand among them.
Predictions make_run_table(const std::vector<JudgedRanking>& judged, const RankingScores& scores);

}  // namespace simile
