// SPDX-License-Identifier: Apache-2.0
// What the tasks on pairs of texts share.
#pragma once

#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/predictions.h"
#include "simile/eval/scorer.h"

namespace simile {

// One score per pair: the scorer's own, or that of its head where one is named. Errors:
// ErrorKind::kFailed for a wrong number of scores, or one that is not finite; and those of
// Scorer::run_head() and simile/eval/head_output.h.
std::vector<double> score_checked(Scorer& scorer, const PairDataset& data, const std::string& head);

// What reading the data met, for Task::warnings().
std::vector<std::string> reading_warnings(const PairDataset& data);

// Leaves them as Task::evaluate() does (simile/eval/predictions.h).
void keep_scored_pairs(const PairDataset& data, const std::vector<double>& scores,
                       const std::string& path, Predictions* predictions);

}  // namespace simile
