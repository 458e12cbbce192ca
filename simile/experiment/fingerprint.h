// SPDX-License-Identifier: Apache-2.0
// What the result of a training depends on: its recipe, its model, its data.
#pragma once

#include <map>
#include <string>

#include "simile/core/config.h"
#include "simile/train/train_options.h"

namespace simile {

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

}  // namespace simile
