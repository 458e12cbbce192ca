// SPDX-License-Identifier: Apache-2.0
// Retrieval: rank the corpus, or the judged documents, for each query. Metrics as named in the
// options, defined in simile/metric/ranking.h.
//
// Only queries with a relevant document are ranked; the others are left out and counted in the
// notes. `examples` of the report is the number of queries that count. Ties are broken as `ties`
// says, also at the cut to `depth` documents.
//
// With judgements of other queries, `dev`, a hybrid (simile/eval/hybrid_scorer.h) ranks with the
// weight that is best on those by the first metric, which the notes tell. For other scorers they
// change nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simile/data/ranking_data.h"
#include "simile/data/ranking_files.h"
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

// `dev` is of the same documents; its texts of them are not kept. Errors: ErrorKind::kInput when no
// query has a relevant document; ErrorKind::kRecipe when a metric looks further than `depth`, or
// when a query of dev is tested too.
std::unique_ptr<Task> make_ranking_task(const std::string& name, RankingData data,
                                        const RankingTaskOptions& options,
                                        std::optional<RankingData> dev);

}  // namespace simile
