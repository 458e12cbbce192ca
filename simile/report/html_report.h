// SPDX-License-Identifier: Apache-2.0
// Runs side by side as one HTML page that needs nothing else: no script, no file, no network.
//
//   runs          what each is, how far it has come, and its verdict (simile/report/verdict.h)
//   results       a table per evaluation, metrics x 100, mean +- standard deviation of several
//                 seeds, baselines below
//   curves        loss, learning rate, gradient norm and the rest of metrics.jsonl, and every
//                 metric of the evaluations, over steps; of long runs about 1,000 points that keep
//                 the extremes
//   worst errors  of each evaluation with predictions, with their texts
//                 (simile/report/worst_errors.h)
//   lengths       words per text (split_words()) of the evaluations' examples
//   recipe        with the environment, and what differs between the recipes
//
// A run that is not finished is shown as far as it has come, with what is missing. All that comes
// from files is escaped. Errors: those of simile/report/run_files.h and run_log.h, and
// ErrorKind::kUsage without a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

struct HtmlReportOptions {
  int64_t errors = 10;

  void visit(OptionVisitor& v) {
    v.field("errors", errors,
            {"worst errors to show of each evaluation and run", "examples", 0, 1000});
  }
};

// `paths` are run folders, of one seed or several.
std::string html_report(const std::vector<std::string>& paths, const HtmlReportOptions& options);

}  // namespace simile
