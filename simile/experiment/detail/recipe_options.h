// SPDX-License-Identifier: Apache-2.0
// The options of a recipe: which of them a dotted path means and of what kind they are, and those
// that a recipe sets as a YAML file.
#pragma once

#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/train/train_options.h"

namespace simile {

struct FoundOption {
  std::string kind;  // "true or false", "a whole number", ...
  bool is_number = false, is_whole = false;
  double number = 0;  // its value
};

// Finds `path` among the options that there are with these values. A star in `path` means all items
// of a list; of a list of one its number may be left out. A group is what its first option is,
// which a single value in its place sets.
std::vector<FoundOption> find_options(const TrainOptions& options, const std::string& path);

// What a finished recipe sets, in the order of its options, without comments. Paths are relative to
// `folder`, the file's, so that both can be moved together with the data.
std::string recipe_to_yaml(const ConfigNode& recipe, const std::string& folder);

}  // namespace simile
