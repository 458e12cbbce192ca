// SPDX-License-Identifier: Apache-2.0
// The files that the task ranking leaves of what a scorer ranked (simile/eval/predictions.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/ranking_data.h"
#include "simile/eval/scorer.h"
#include "simile/metric/ranking.h"

namespace simile {

// Writes the TREC run `path` and the table of its queries beside it. Of queries[i], a row of the
// data's queries: rankings[i], judged[i] and scores.per_query[i].
void write_ranking_predictions(const std::string& path, const std::string& scorer,
                               const RankingData& data, const std::vector<int64_t>& queries,
                               const std::vector<Ranking>& rankings,
                               const std::vector<JudgedRanking>& judged,
                               const RankingScores& scores);

}  // namespace simile
