// SPDX-License-Identifier: Apache-2.0
// What can be told of a recipe without training: what its result depends on (recipe, model, data),
// which options a dotted path means, and the recipe as a YAML file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simile/core/config.h"
#include "simile/train/train_options.h"

namespace simile {

// Throws (ErrorKind::kRecipe) the message with the file and line of `place`.
[[noreturn]] void fail_at(const ConfigNode& place, const std::string& message);

// Fails at a node that is neither a map nor missing.
void check_map(const ConfigNode& node, const std::string& name);

// Hashes of files and folders; each file is read once.
class ContentHashes {
 public:
  // The hash of a file, of all files below a folder (their names too, hidden ones left out, links
  // to files and folders followed), or of the files that a pattern means. Empty where there is
  // none.
  const std::string& of(const std::string& path);

 private:
  std::map<std::string, std::string> known_;
};

using RecipeInputs = std::map<std::string, std::string>;  // hashes by absolute path

// The files, folders and models that the options name. Errors: ErrorKind::kInput where there is
// none of a file's name.
RecipeInputs find_inputs(const TrainOptions& options, ContentHashes& hashes);

// A hash of the recipe as it is written, not as it is read, so that an option which a later version
// adds changes nothing, and of kTrainingVersion, so that one which trains otherwise changes all; in
// place of paths, of what lies there. It is the same wherever recipe and data stand, and whatever
// the order of the keys.
std::string recipe_fingerprint(const ConfigNode& recipe, const RecipeInputs& inputs);

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
