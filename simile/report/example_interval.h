// SPDX-License-Identifier: Apache-2.0
// How much a figure of finished runs hangs on the examples they were tested on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/metric/significance.h"

namespace simile {

struct FigureInterval {
  double value = 0;
  Interval interval;
};

// EVALUATION.METRIC and its 95 % bootstrap interval over the test examples of run folders: of
// several seeds those of their mean, of folds those of the mean of the folds' metrics, the examples
// drawn as compare_runs() draws them (simile/report/comparison.h), with seed 1. None without
// predictions, for a metric that is not computed from them, and where they do not give what was
// reported: `problem` then says why. The same bits for any number of threads. Errors
// (ErrorKind::kInput): a folder that is not of a finished run; predictions that cannot be read;
// runs that were not tested on the same examples.
std::optional<FigureInterval> example_interval(const std::vector<std::string>& folders,
                                               const std::string& metric, int64_t samples,
                                               std::string& problem);

}  // namespace simile
