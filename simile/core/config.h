// SPDX-License-Identifier: Apache-2.0
// A tree of settings as read from a YAML or JSON file, each node knowing the line it stands on.
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
  // Which type a scalar has where the file tells it, as JSON does.
  enum class Type { kUntold, kText, kNumber, kTruth };
  Type type = Type::kUntold;

  const ConfigNode* find(const std::string& name) const;  // kMap: the member, or null
  std::string where() const;                              // "recipes/stsb.yaml:12"
};

// Reads YAML (of which JSON is a part). Errors: ErrorKind::kRecipe with file and line.
ConfigNode load_config(const std::string& path);
ConfigNode parse_config(const std::string& text, const std::string& source);

// Reads JSON, whose scalars keep their type. Errors: ErrorKind::kInput for what is no JSON, is
// nested deeper than 100 levels, or has a name twice at the top.
ConfigNode parse_json_config(std::string_view text, const std::string& source);

// The tree as JSON in one line; scalars of a type that is not told are texts.
std::string config_to_json(const ConfigNode& node);

// Applies one "key.sub=value" from the command line; the value is YAML ("[1, 2]" is a list), list
// items are named by their number ("stages.0.epochs=2"), or all of them by a star
// ("stages.*.epochs=2"). Missing maps are made; a single value on the way stays as the map's
// `scalar`.
void apply_override(ConfigNode& root, const std::string& assignment);

// The same with the value as it is.
void apply_override(ConfigNode& root, const std::string& key, const ConfigNode& value);

}  // namespace simile
