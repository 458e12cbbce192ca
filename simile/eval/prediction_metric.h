// SPDX-License-Identifier: Apache-2.0
// The metrics of an evaluation, computed again from its predictions and from any choice of its
// examples, as a bootstrap draws them:
//
//   sts              spearman, pearson (simile/metric/correlation.h)
//   pairs            ap; with the report's thresholds also accuracy ("threshold"), mcc and f1
//                    ("f1_threshold") (simile/metric/threshold.h)
//   classification   accuracy, macro_f1 of the classes that occur (simile/metric/classification.h)
//   ranking          means of the table's columns
//
// Each takes time linear in the number of examples: scores are sorted once, not for each choice.
#pragma once

#include <string>
#include <vector>

#include "simile/eval/predictions.h"
#include "simile/eval/report.h"
#include "simile/metric/significance.h"

namespace simile {

// Empty for a metric that cannot be computed from these predictions. `report` is theirs, for its
// thresholds; it may be null.
Statistic make_statistic(const Predictions& predictions, const std::string& metric,
                         const Report* report);

// Gives the report of these predictions the 95 % bootstrap interval of each of its metrics that is
// computed from them: examples drawn with replacement under seed 1, 1,000 to 10,000 times, the more
// the fewer they are. Thresholds stay as they were chosen on all examples. A metric that the
// predictions do not give again to 1e-6 gets none. To be called once.
void add_intervals(const Predictions& predictions, Report& report);

// A report made from a file of predictions alone. Scores of gold answers 0 and 1, of which both
// occur, are those of task pairs. `model` and `name` are left empty.
Report report_predictions(const Predictions& predictions);

}  // namespace simile
