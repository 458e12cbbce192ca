// SPDX-License-Identifier: Apache-2.0
// Prepares a recipe for training: reads it, cuts its data into folds, completes it from its data,
// checks it, and compares it with the recipe of the run that it continues.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/options.h"
#include "simile/report/run_folder.h"
#include "simile/train/option_rules.h"
#include "simile/train/train_options.h"
#include "simile/train/train_state.h"

namespace simile {

// Hashes of files and folders; each file is read once.
class ContentHashes {
 public:
  ContentHashes() = default;
  // `but`: a folder whose files do not count, as those that a run writes.
  explicit ContentHashes(const std::string& but);

  // The hash of a file, of all files below a folder (their names too, hidden ones left out, links
  // to files and folders followed), or of the files that a pattern means. Empty where there is
  // none.
  const std::string& of(const std::string& path);

 private:
  std::vector<std::string> but_;
  std::map<std::string, std::string> known_;
};

// A path that a recipe reads.
struct RecipePath {
  std::string path;
  bool may_be_name = false;  // of a model or a stage
};

// All paths that a struct of options names, except the folder for vectors of teachers.
std::vector<RecipePath> find_recipe_paths(const OptionValue& options);

// The files, folders and models that the options name. Errors: ErrorKind::kInput where there is
// none of a file's name.
RecipeInputs find_inputs_of(const OptionValue& options, ContentHashes& hashes);
template <typename Options>
RecipeInputs find_inputs(Options options, ContentHashes& hashes) {
  return find_inputs_of(OptionValue::of(options), hashes);
}

// The recipe's options after apply_folds(), fill_class_names() and check_train_options(). Errors:
// theirs, and those of read_options().
TrainOptions read_recipe(const ConfigNode& recipe, EventSink& events);

// The data of the first objective that trains this head on classes; null if none does.
const PairDataOptions* find_class_data(const TrainOptions& options, const std::string& head);

// Gives each head with `output: classes` and no class_names the classes of the data of the first
// objective that trains it (read_class_data()), and reports them. A head that no objective
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

// All three, for the options that a recipe is read into, so that defaults are the same in both. A
// run.json that these options do not take is left to whoever reads the saved state.
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
// Errors: where it resumes, those of check_resumed_recipe(); else those of check_outside_run() for
// the paths that the recipe reads.
template <typename Options>
std::string open_run(Options& options, const std::string& folder, bool resume, EventSink& events) {
  for (const std::string& warning : idle_option_warnings(options)) events.warning(warning);
  const std::string path = folder.empty() ? "runs/" + options.name : folder;
  if (resume) {
    check_resumed_recipe(path, options, events);
  } else {
    for (const RecipePath& read : find_recipe_paths(OptionValue::of(options))) {
      check_outside_run(path, read.path);
    }
  }
  return path;
}

// A recipe with `folds: k`:
//
//   folds: 5
//   stages:
//     objectives: {data: {path: faq.tsv, part: fit}, dev: {part: dev}, loss: bsc}
//   tests: {name: test, task: ranking, data: faq.tsv, part: test}
//
// Data with a `part` (simile/data/pair_data.h) is cut; everything else is the same for each fold.
//
// Gives the folds' number to each data set and evaluation with a part, which then read fold 0.
// Nothing where the recipe has no folds. Errors (ErrorKind::kRecipe): a selection.metric of the
// part that is tested, with folds or with one fold alone; several `runs` as well; no data to train
// on, or none to test on; and recipes that would train on tested texts: parts of different data, or
// cut differently or with another fold_seed; data read whole beside its parts; a dev part.
void apply_folds(TrainOptions& options);

// The recipe that trains with one fold alone, from 0; of options that apply_folds() has seen.
TrainOptions options_of_fold(const TrainOptions& options, int64_t fold);

// The examples of an evaluation as data.
PairDataOptions data_of(const EvaluationOptions& evaluation);

// Whether each example of the evaluation is evaluated in one fold and no other.
bool is_cut(const EvaluationOptions& evaluation);

// Every option of a recipe.
std::string recipe_reference();

// Every option of a recipe of pre-training.
std::string pretrain_reference();

// Every loss with needs, formula, paper, advice and options; normalisations, heads, regularisers.
std::string method_reference();

}  // namespace simile
