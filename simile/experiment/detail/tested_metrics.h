// SPDX-License-Identifier: Apache-2.0
// What two settings got in the tests of a search.
#pragma once

#include <vector>

#include "simile/experiment/planned_run.h"
#include "simile/experiment/tuning.h"

namespace simile {

// The metrics of the recipe's tests, or, where it has none, of its evaluations: of each pair of
// runs (with the same seed) those that both have, in the order of the reports.
std::vector<TestedMetric> compare_tests(const TrainOptions& recipe,
                                        const std::vector<RunOutcome>& own,
                                        const std::vector<RunOutcome>& best);

}  // namespace simile
