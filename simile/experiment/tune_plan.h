// SPDX-License-Identifier: Apache-2.0
// A recipe with ranges to search, read and checked. docs/tune.md has the form:
//
//   recipe: faq.yaml                  # or the keys of a recipe in this file itself
//   values: {variant: static}         # in place of the recipe's; only with `recipe`
//   tune:
//     space:
//       stages.*.learning_rate: {low: 1e-4, high: 1e-1, scale: log}
//       stages.*.objectives.*.batch_size: {low: 16, high: 128, scale: log}
//       stages.*.objectives.*.loss: {choices: [mnrl, {name: bsc, duplicates: mask}]}
//       stages.*.objectives.*.loss.temperature: {low: 0.01, high: 0.2, when:
//       {stages.*.objectives.*.loss: bsc}}
//     metric: dev.map                 # and the other fields of TuneSettings
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/options.h"
#include "simile/experiment/search_space.h"

namespace simile {

// What `tune:` says beside `space`.
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

// `overrides` are those of load_recipe(); of those that begin with "tune." the file's `tune` is
// changed. Errors: ErrorKind::kRecipe with file and line for what does not fit: a range and the
// option's kind or bounds, an unknown path, a metric that no evaluation has (whose data are read
// for that), a condition on what is no setting, and those of SearchSpace.
TunePlan read_tune_plan(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace simile
