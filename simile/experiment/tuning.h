// SPDX-License-Identifier: Apache-2.0
// The search that a recipe with ranges asks for (simile/experiment/tune_plan.h), trained trial by
// trial.
//
// Each trial is a run (simile/experiment/planned_run.h) of the recipe without tests and baselines,
// in OUT/trials/trial-N; OUT/trials/trial-N.point.json is the journal: its point, each value that
// its weights were selected by, and how it ended. A search that was interrupted or killed goes on
// with these, and proposes what it would have proposed. Several processes, also on several
// machines, may work in one folder: each trial is trained by one of them, `parallel` of them at a
// time.
//
// A trial that fails counts as the worst; one that was stopped by its best value so far. The best
// setting is that of the best trial that was trained to its end. It and the recipe's own are then
// trained with `runs` seeds after the recipe's, which no trial had, and tested (OUT/tests).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/experiment/proposal.h"
#include "simile/experiment/trial.h"
#include "simile/experiment/tune_plan.h"
#include "simile/metric/significance.h"

namespace simile {

struct TuneOptions {
  int64_t trials = 0;
  int64_t runs = -1;
  int64_t limit = 0;
  std::string out;

  void visit(OptionVisitor& v);
};

// A metric of the tests, of the seeds that both settings have.
struct TestedMetric : PairedTest {
  std::string name;               // EVALUATION.METRIC
  std::vector<double> own, best;  // one for each seed
};

struct Tuning {
  TunePlan plan;
  TuneOptions options;
  std::vector<Trial> trials;
  std::optional<size_t> best;          // none: no trial was trained to its end
  std::vector<SettingEffect> effects;  // in the metric's unit; empty with fewer than 4 trials
  double noise = 0;                    // that the surrogate sees in the metric
  std::vector<int64_t> seeds;          // of the tests
  std::vector<TestedMetric> tests;
  std::string best_recipe;  // YAML

  std::string metric_name() const;  // "dev.map", "mean of dev.map, faq.mrr"
  std::string show(double value) const;
  std::string setting_label(size_t setting) const;  // the end of its path

  std::string to_text() const;
  std::string to_markdown() const;
  std::string to_json() const;
  std::string to_svg() const;  // what the surrogate says of each setting, and the trials
};

// Trains what is to be trained and reads the rest; writes best.yaml, a recipe, and tune.txt, .md,
// .json and .svg to the folder. Errors: those of read_tune_plan(); ErrorKind::kUsage for a folder
// that holds another search; kInput for data that are not at hand; kFailed where all trials failed,
// with the first's error; kInterrupted.
Tuning search_settings(const std::string& recipe, const std::vector<std::string>& overrides,
                       const TuneOptions& options, EventSink& events);

// The keys of `tune:` as Markdown.
std::string tune_reference();

}  // namespace simile
