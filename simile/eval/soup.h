// SPDX-License-Identifier: Apache-2.0
// Models of one architecture made one by averaging their weights (simile/encode/mean_model.h), all
// of them or those that help, and measured beside its parts.
//
// With a metric the greedy recipe of Wortsman et al. ("Model soups", ICML 2022, section 2): the
// models stand in the order of their own value, best first, equal ones as given; the mean begins
// with the first, and takes in each other that does not make the mean's value fall. So it is never
// worse than the best of them on the tasks that it was chosen by, which therefore say too much of
// it: `tests` have other data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/eval/report.h"
#include "simile/eval/task.h"

namespace simile {

struct SoupOptions {
  std::vector<std::string> models;  // folders or built-in models, at least two
  std::vector<double> weights;      // one each; none: all 1
  std::vector<EvaluationOptions> tasks, tests;
  std::string metric;  // of `tasks`, METRIC (its mean over them) or NAME.METRIC; empty: all models
  std::string output;  // the folder to write
};

struct SoupPart {
  std::string model, fingerprint;
  double share = 0;                     // of the mean; 0: left out
  std::optional<double> value, joined;  // of the metric: by itself, and of the mean with it
};

struct SoupReport {
  std::vector<SoupPart> parts;  // in the order they were given
  std::optional<double> value;  // of the mean
  std::vector<Report> reports;  // of each task: the mean, then its parts; then of each test
};

// Errors: kUsage for weights that are not above 0, another number of them than of models, weights
// together with a metric, a metric without tasks or one that they do not have or that is not better
// the higher, all before the first model is measured; those of ModelFamily, load_task() and
// Task::evaluate(). Nothing is written before all is known.
SoupReport make_soup(const SoupOptions& options, EventSink& events);

}  // namespace simile
