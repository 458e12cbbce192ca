// SPDX-License-Identifier: Apache-2.0
// A recipe as it is run: the file, and what the command line puts in place of its values.
//
//   data: ../examples/rail                       # $data/dev.tsv below is a file of this folder
//   variants:
//     cosent: {stages.objectives.loss: cosent}   # values that replace others, by dotted keys
//     stsb: {data: ../../shared/data/stsb}
//
// An override `variant=cosent` replaces the values listed under that name and adds "-cosent" to the
// run's `name`, unless `name` is one of them. Overrides are applied in their order; a later one
// wins. Paths of a variant start from the recipe's folder, as all of its paths do, and `data=PATH`
// from the working directory.
#pragma once

#include <string>
#include <vector>

#include "simile/core/config.h"

namespace simile {

enum class DataFolder { kMustExist, kMayBeMissing };

// Without the keys `data` and `variants`, which are resolved, and `tune`, the ranges of a search
// (simile/experiment/tune_plan.h). Errors: those of load_config() and
// apply_override(); ErrorKind::kRecipe for a variant that the recipe does not list, and for $data/
// in a recipe without `data`; ErrorKind::kInput where `data` is no folder.
ConfigNode load_recipe(const std::string& path, const std::vector<std::string>& overrides,
                       DataFolder folder = DataFolder::kMustExist);

// The same of a recipe that is read already, which messages call `name`, in the two steps that
// load_recipe() takes: apply_recipe_override() for each value, then finish_recipe(). The key
// `variant` takes the name of one, or a list of names.
void apply_recipe_override(ConfigNode& recipe, const std::string& key, const ConfigNode& value);
ConfigNode finish_recipe(ConfigNode recipe, const std::string& name,
                         DataFolder folder = DataFolder::kMustExist);

// Where a path starts that stands in a file, from that file's folder, or elsewhere, from the
// working directory: absolute, without "..".
std::string resolved_path(const ConfigNode& path);

// The names of the variants that a recipe lists, in its order.
std::vector<std::string> recipe_variants(const ConfigNode& recipe);

}  // namespace simile
