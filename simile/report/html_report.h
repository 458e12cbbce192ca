// SPDX-License-Identifier: Apache-2.0
// Runs side by side as one HTML page that needs nothing else: no script, no file, no network.
// `simile report` writes it, and the server shows it for training runs.
//
//   runs          what each is, how far it has come, and its verdict (simile/report/verdict.h)
//   results       a table per evaluation, metrics x 100, mean +- standard deviation of several
//                 seeds, baselines below
//   curves        loss, learning rate, gradient norm and the rest of metrics.jsonl, and every
//                 metric of the evaluations, over steps; of long runs about 1,000 points that keep
//                 the extremes
//   worst errors  of each evaluation with predictions, with their texts
//   lengths       words per text (split_words()) of the evaluations' examples
//   recipe        with the environment, and what differs between the recipes
//
// An unfinished run is shown as far as it has come, with a note on missing parts. Text from files
// is escaped. Errors: those of run_files.h and run_log.h; ErrorKind::kUsage without a run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/eval/predictions.h"
#include "simile/report/run_files.h"
#include "simile/report/run_log.h"

namespace simile {

struct HtmlReportOptions {
  int64_t errors = 10;
  std::string curves = "all";
  int64_t smooth = 0;
  int64_t first_step = 0, last_step = 0;

  void visit(OptionVisitor& v) {
    v.field("errors", errors,
            {"worst errors to show of each evaluation and run", "examples", 0, 1000});
    v.field("curves", curves,
            choice_info("main: curves of losses and of the first metric of each evaluation alone",
                        {"all", "main"}));
    v.field("smooth", smooth,
            {"average curves of losses and norms over this number of points on each side", "points",
             0, 1000});
    v.field("first_step", first_step, {"first step of the curves", "steps", 0});
    v.field("last_step", last_step, {"last step of the curves (0: the end)", "steps", 0});
  }
};

// A series in every plot: the runs of one recipe.
struct ShownRun {
  RunSet set;
  std::vector<RunLog> logs;           // one per run; empty where there is none yet
  std::vector<std::string> problems;  // what cannot be read
  int series = 0;                     // its place among the runs
};

// `paths` are run folders, of one seed or several, and folders with such at any depth.
std::string html_report(const std::vector<std::string>& paths, const HtmlReportOptions& options);

// Reads a file of predictions; if it sets `problem`, that is shown instead of the examples.
using PredictionReader = std::function<Predictions(const std::string& path, std::string& problem)>;

// The same of runs that were read. Without a reader there are no worst errors and no lengths.
std::string html_report(std::vector<ShownRun> runs, const HtmlReportOptions& options,
                        const PredictionReader& read);

}  // namespace simile
