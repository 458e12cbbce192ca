// SPDX-License-Identifier: Apache-2.0
// What the tasks on pairs of texts share.
#pragma once

#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/scorer.h"

namespace simile {

// One score per pair. Errors: ErrorKind::kFailed for a wrong number of scores, or one that is not
// finite.
std::vector<double> score_checked(Scorer& scorer, const PairDataset& data);

// Writes `left right gold score` with a header; tabs and line ends in texts become spaces.
void write_scored_pairs(const std::string& path, const PairDataset& data,
                        const std::vector<double>& scores);

}  // namespace simile
