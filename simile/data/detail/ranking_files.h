// SPDX-License-Identifier: Apache-2.0
// Which files a retrieval set is read from. Used by simile/data/ranking_data.h.
#pragma once

#include <string>
#include <vector>

#include "simile/data/ranking_data.h"

namespace simile {

struct RankingFiles {
  std::vector<std::string> queries, corpus;
  std::string qrels;
};

// Those of the options, and of the folder where one is given. Errors: ErrorKind::kRecipe for a file
// that is neither named nor looked for in a folder, and for a set given in two ways;
// ErrorKind::kInput for one that the folder lacks (with what was looked for) and a split it lacks
// (with those it has).
RankingFiles find_ranking_files(const RankingDataOptions& options);

}  // namespace simile
