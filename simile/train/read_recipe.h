// SPDX-License-Identifier: Apache-2.0
// A recipe as training takes it: read, completed from its data, checked, and compared with that of
// the run which it continues.
#pragma once

#include <optional>
#include <string>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/event.h"
#include "simile/core/options.h"
#include "simile/train/option_review.h"
#include "simile/train/train_options.h"

namespace simile {

// The recipe's options after apply_folds(), fill_class_names() and check_train_options(). Errors:
// theirs, and those of read_options().
TrainOptions read_recipe(const ConfigNode& recipe, EventSink& events);

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

// Both, for the options that a recipe is read into, so that what stands at its default is the same
// in both. A run.json that these options do not take is left to whoever reads the saved state.
template <typename Options>
void check_resumed_recipe(const std::string& folder, Options options, EventSink& events) {
  const std::optional<ConfigNode> recipe = read_resumed_recipe(folder, events);
  if (!recipe) return;
  Options begun;
  try {
    read_options(*recipe, begun);
  } catch (const Error&) {
    return;
  }
  check_same_recipe(folder, options_to_json(begun), options_to_json(options));
}

// Where a run trains: `folder`, or runs/NAME where that is empty. Warns of options that do nothing.
// Errors: where it resumes, those of check_resumed_recipe().
template <typename Options>
std::string open_run(const Options& options, const std::string& folder, bool resume,
                     EventSink& events) {
  for (const std::string& warning : idle_option_warnings(options)) events.warning(warning);
  const std::string path = folder.empty() ? "runs/" + options.name : folder;
  if (resume) check_resumed_recipe(path, options, events);
  return path;
}

}  // namespace simile
