// SPDX-License-Identifier: Apache-2.0
// Facts about a recipe that need no training: what its result depends on (recipe, model, data),
// which options a dotted path means, and the recipe as a YAML file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/config.h"
#include "simile/train/read_recipe.h"
#include "simile/train/train_options.h"

namespace simile {

// Throws (ErrorKind::kRecipe) the message, given as to throw_error(), with file and line.
template <typename... Values>
[[noreturn]] void fail_at(const ConfigNode& place, fmt::format_string<Values...> form,
                          Values&&... values) {
  throw_error(ErrorKind::kRecipe, "{}: {}", place.where(),
              fmt::format(form, std::forward<Values>(values)...));
}
template <typename... Values>
void check_at(bool good, const ConfigNode& place, fmt::format_string<Values...> form,
              Values&&... values) {
  if (!good) fail_at(place, form, std::forward<Values>(values)...);
}

// Fails at a node that is neither a map nor missing.
void check_map(const ConfigNode& node, const std::string& name);

// Fails at a value of a table or search whose `path` begins with one of the `fixed` keys: it would
// have no effect, because all runs have the same. "'seed' cannot be searched: it is the same in all
// trials"
void check_may_vary(const std::string& path, const ConfigNode& place,
                    const std::vector<std::string>& fixed, const char* varied, const char* runs);

// A hash of the recipe as written, not as read, so that an option that a later version adds changes
// nothing; and of kTrainingVersion, so that a version that trains differently changes every hash.
// Paths count by the content of their files. Neither places nor the order of keys matter.
std::string recipe_fingerprint(const ConfigNode& recipe, const RecipeInputs& inputs);

struct FoundOption {
  std::string kind;  // "true or false", "a whole number", ...
  bool is_number = false, is_whole = false;
  double number = 0;  // its value
};

// Finds `path` among the options that there are with these values. A star in `path` means all items
// of a list; of a list of one its number may be left out. A group has the kind of its first option.
std::vector<FoundOption> find_options(const TrainOptions& options, const std::string& path);

// The settings of a finished recipe, in the order of its options, without comments. Paths are
// relative to `folder`, the file's, so that both can be moved together with the data.
std::string recipe_to_yaml(const ConfigNode& recipe, const std::string& folder);

}  // namespace simile
