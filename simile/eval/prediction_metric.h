// SPDX-License-Identifier: Apache-2.0
// The metrics of an evaluation, computed again from its predictions and from any choice of its
// examples, as a bootstrap draws them:
//
//   sts              spearman, pearson (simile/metric/correlation.h)
//   pairs            ap; with the report's thresholds also accuracy ("threshold"), mcc and f1
//                    ("f1_threshold") (simile/metric/classification.h)
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

// Whether the statistic of all these examples is the value that was reported, to 1e-6: otherwise
// they are of another evaluation, or it is no metric of single examples.
bool gives_reported(const Statistic& statistic, const Predictions& predictions, double reported);

// How many samples of a bootstrap draw about `work` examples in all: 1,000 at least, 10,000 at
// most.
int64_t affordable_samples(int64_t examples, int64_t work);

// Gives the report of these predictions the 95 % bootstrap interval of each of its metrics that is
// computed from them (gives_reported()): examples drawn with replacement under seed 1, as often as
// is affordable_samples(). Thresholds stay as they were chosen on all examples. To be called once.
void add_intervals(const Predictions& predictions, Report& report);

// A report made from a file of predictions alone. Scores of gold answers 0 and 1, of which both
// occur, are those of task pairs. `model` and `name` are left empty.
Report report_predictions(const Predictions& predictions);

}  // namespace simile
