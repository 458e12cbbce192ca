// SPDX-License-Identifier: Apache-2.0
// A recipe with ranges to search, read and checked, and the search, trained trial by trial.
//
// docs/tune.md has the form:
//
//   recipe: faq.yaml                  # or the keys of a recipe in this file itself
//   values: {variant: static}         # in place of the recipe's; only with `recipe`
//   tune:
//     space:
//       stages.*.learning_rate: {low: 1e-4, high: 1e-1, scale: log}
//       stages.*.objectives.*.batch_size: {low: 16, high: 128, scale: log}
//       stages.*.objectives.*.loss: {choices: [mnrl, {name: bsc, duplicates: mask}]}
//       stages.*.objectives.*.loss.temperature:
//         {low: 0.01, high: 0.2, when: {stages.*.objectives.*.loss: bsc}}
//     metric: dev.map                 # and the other fields of TuneSettings
//
// Each trial is a run (simile/experiment/planned_run.h) of the recipe without tests and baselines,
// in OUT/trials/trial-N; OUT/trials/trial-N.point.json is the journal: its point, each value that
// its weights were selected by, and how it ended. An interrupted or killed search continues with
// these, and proposes the same points. Several processes, also on several machines, may work in one
// folder: each trains a trial, `parallel` at a time.
//
// A trial that fails counts as the worst; one that was stopped by its best value so far. The best
// setting is that of the best trial that was trained to its end. It and the recipe's own are then
// trained with `runs` seeds after the recipe's, which no trial had, and tested (OUT/tests).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/experiment/proposal.h"
#include "simile/experiment/search_space.h"
#include "simile/experiment/trial.h"
#include "simile/metric/significance.h"

namespace simile {

// The settings of `tune:` besides `space`.
struct TuneSettings {
  std::vector<std::string> metric;  // empty: the selection metric of the last stage
  std::string method = "gp";
  int64_t initial = 15;  // both as PolarBERT (section 5.4)
  int64_t trials = 0;    // 0: see default_trials()
  std::string stopping = "median";
  int64_t reduction = 3;  // halving: one of so many goes on
  int64_t parallel = 1;
  int64_t runs = 3;
  int64_t seed = 1;

  void visit(OptionVisitor& v);
};

// A setting as the file names it.
struct TunedSetting {
  std::string path;
  std::vector<ConfigNode> choices;
  std::vector<std::string> labels;  // of the choices
};

struct TunePlan {
  std::string name;
  ConfigNode recipe;  // not finished, see finish_recipe(); with the selection metric of the search
  TuneSettings settings;
  SearchSpace space;
  std::vector<TunedSetting> tuned;  // in the order of the space
  bool lower_is_better = false;
  std::optional<SearchPoint> own;  // what the recipe has itself, where that is in the space

  // The finished recipe with the values of a point.
  ConfigNode recipe_at(const SearchPoint& point) const;
  // "2.5e-4", or the label of a choice; "-" where the point does not have the setting.
  std::string show_value(size_t setting, const std::optional<double>& value) const;
  int64_t default_trials() const;  // gp, random 23; halving 27; of a grid all
};

// `overrides` are those of load_recipe(); those that begin with "tune." change the file's `tune`.
// Errors: ErrorKind::kRecipe with file and line for a range that does not fit the option's kind or
// bounds, an unknown path, a metric that no evaluation has (it reads their data to know), a
// condition on an unknown setting, and those of SearchSpace.
TunePlan read_tune_plan(const std::string& path, const std::vector<std::string>& overrides);

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

// Trains the unfinished trials and reads the others; writes best.yaml, a recipe, and tune.txt, .md,
// .json and .svg to the folder. Errors: those of read_tune_plan(); ErrorKind::kUsage for a folder
// that holds another search; kInput for missing data; kFailed, with the first error, if all failed;
// kInterrupted.
Tuning search_settings(const std::string& recipe, const std::vector<std::string>& overrides,
                       const TuneOptions& options, EventSink& events);

// The keys of `tune:` as Markdown.
std::string tune_reference();

}  // namespace simile
