// SPDX-License-Identifier: Apache-2.0
// A tree of settings as read from a YAML or JSON file, each node knowing the line it stands on; and
// recipes, such files with variants and overrides.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simile {

struct ConfigNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  // kScalar: the text as written. kMap: empty, or the single value that stood here before an
  // override made it a map (`loss: mse` with `loss.mu=1`); it belongs to the first option of the
  // group.
  std::string scalar;
  std::vector<ConfigNode> items;                            // kList
  std::vector<std::pair<std::string, ConfigNode>> members;  // kMap, in file order
  std::string source;                                       // file name, or "command line"
  int line = 0;                                             // from 1; 0 when there is none
  // The type of a scalar if the file states it, as JSON does.
  enum class Type { kUntold, kText, kNumber, kTruth };
  Type type = Type::kUntold;

  const ConfigNode* find(const std::string& name) const;  // kMap: the member, or null
  std::string where() const;                              // "recipes/stsb.yaml:12"
};

// Reads YAML (of which JSON is a part). Errors: ErrorKind::kRecipe with file and line.
ConfigNode load_config(const std::string& path);
ConfigNode parse_config(const std::string& text, const std::string& source);

// Reads JSON, whose scalars keep their type. Errors: ErrorKind::kInput for text that is not JSON,
// is nested deeper than 100 levels, or has a name twice at the top.
ConfigNode parse_json_config(std::string_view text, const std::string& source);

// The tree as JSON in one line; scalars of unknown type become texts.
std::string config_to_json(const ConfigNode& node);

// Applies one "key.sub=value" from the command line; the value is YAML ("[1, 2]" is a list), list
// items are named by their number ("stages.0.epochs=2"), or all of them by a star
// ("stages.*.epochs=2"). Missing maps are made; a single value on the way stays as the map's
// `scalar`.
void apply_override(ConfigNode& root, const std::string& assignment);

// The same with the value as it is.
void apply_override(ConfigNode& root, const std::string& key, const ConfigNode& value);

// A recipe as it is run: the file, with the values that the command line overrides.
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

enum class DataFolder { kMustExist, kMayBeMissing };

// Without the keys `data` and `variants`, which are resolved, and `tune`, the ranges of a search
// (simile/experiment/tuning.h). Errors: those of load_config() and
// apply_override(); ErrorKind::kRecipe for a variant that the recipe does not list, and for $data/
// in a recipe without `data`; ErrorKind::kInput if `data` is not a folder.
ConfigNode load_recipe(const std::string& path, const std::vector<std::string>& overrides,
                       DataFolder folder = DataFolder::kMustExist);

// The same of a recipe that is read already, which messages call `name`, in the two steps that
// load_recipe() takes: apply_recipe_override() for each value, then finish_recipe(). The key
// `variant` takes the name of one, or a list of names.
void apply_recipe_override(ConfigNode& recipe, const std::string& key, const ConfigNode& value);
ConfigNode finish_recipe(ConfigNode recipe, const std::string& name,
                         DataFolder folder = DataFolder::kMustExist);

// The absolute form of a path, without "..". A path in a file starts from that file's folder, any
// other path from the working directory.
std::string resolved_path(const ConfigNode& path);

// The names of the variants that a recipe lists, in its order.
std::vector<std::string> recipe_variants(const ConfigNode& recipe);

// The name that other trainers use for an option of a recipe.
struct ForeignKey {
  const char* key;   // the end of the option's dotted name here; empty: nothing is known
  const char* note;  // such as " (1 / temperature)", where the value differs; may be empty
};

// The key for an argument of sentence-transformers' trainer or a column of its data sets.
ForeignKey find_foreign_key(const std::string& name);

}  // namespace simile
