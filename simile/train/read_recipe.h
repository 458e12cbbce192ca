// SPDX-License-Identifier: Apache-2.0
// A recipe as training takes it: read, its data cut into folds, completed from its data, checked,
// and compared with that of the run which it continues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/train/option_rules.h"
#include "simile/train/train_options.h"

namespace simile {

// The recipe's options after apply_folds(), fill_class_names() and check_train_options(). Errors:
// theirs, and those of read_options().
TrainOptions read_recipe(const ConfigNode& recipe, EventSink& events);

// Of the first objective that teaches this head classes; null where none does.
const PairDataOptions* find_class_data(const TrainOptions& options, const std::string& head);

// Gives each head with `output: classes` and no class_names the classes of the data of the first
// objective that trains it (simile/data/class_data.h), and tells which. A head that no objective
// with classes trains stays as it is. Errors: those of read_pairs().
void fill_class_names(TrainOptions& options, EventSink& events);

// The recipe in the run.json of `folder`; none where it cannot be read. Warns where the folder has
// no run and others begin with its name, as runs of variants do.
std::optional<ConfigNode> read_resumed_recipe(const std::string& folder, EventSink& events);

// Errors (ErrorKind::kUsage): the two recipes (JSON) differ, with the keys and both values.
void check_same_recipe(const std::string& folder, const std::string& begun,
                       const std::string& given);

// Stages without a learning rate take the rates that the run was begun with.
void take_learning_rates(const TrainOptions& begun, TrainOptions& options);

// All three, for the options that a recipe is read into, so that what stands at its default is the
// same in both. A run.json that these options do not take is left to whoever reads the saved state.
template <typename Options>
void check_resumed_recipe(const std::string& folder, Options& options, EventSink& events) {
  const std::optional<ConfigNode> recipe = read_resumed_recipe(folder, events);
  if (!recipe) return;
  Options begun;
  try {
    read_options(*recipe, begun);
  } catch (const Error&) {
    return;
  }
  if constexpr (std::is_same_v<Options, TrainOptions>) take_learning_rates(begun, options);
  check_same_recipe(folder, options_to_json(begun), options_to_json(options));
}

// Where a run trains: `folder`, or runs/NAME where that is empty. Warns of options that do nothing.
// Where it resumes, as check_resumed_recipe().
template <typename Options>
std::string open_run(Options& options, const std::string& folder, bool resume, EventSink& events) {
  for (const std::string& warning : idle_option_warnings(options)) events.warning(warning);
  const std::string path = folder.empty() ? "runs/" + options.name : folder;
  if (resume) check_resumed_recipe(path, options, events);
  return path;
}

// A recipe with `folds: k`:
//
//   folds: 5
//   stages:
//     objectives: {data: {path: faq.tsv, part: fit}, dev: {part: dev}, loss: bsc}
//   tests: {name: test, task: ranking, data: faq.tsv, part: test}
//
// What names a `part` (simile/data/pair_data.h) is cut; all else is the same for each fold.
//
// Gives the folds' number to each data set and evaluation with a part, which then read fold 0.
// Nothing where the recipe has no folds. Errors (ErrorKind::kRecipe): a selection.metric of the
// part that is tested, with folds or with one fold alone; several `runs` as well; no data to train
// on, or none to test on; and what would train on texts that are tested on: parts of different
// data, or cut otherwise or after another fold_seed; data that is read whole beside its parts; a
// dev part that is trained on.
void apply_folds(TrainOptions& options);

// The recipe that trains with one fold alone, from 0; of options that apply_folds() has seen.
TrainOptions options_of_fold(const TrainOptions& options, int64_t fold);

// The examples of an evaluation as data.
PairDataOptions data_of(const EvaluationOptions& evaluation);

// Whether each example of the evaluation is evaluated in one fold and no other.
bool is_cut(const EvaluationOptions& evaluation);

}  // namespace simile
