// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/core/recipe.h"
#include "simile/data/path_list.h"
#include "simile/model/model_folder.h"
#include "simile/data/line_reader.h"
#include "simile/model/builtin_model.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

using FileHashes = std::map<std::string, std::string>;  // by name below the folder

// `above` are the folders that this one is in; a link to one of them is left out.
void hash_files(const fs::path& folder, const std::string& prefix, std::vector<fs::path>& above,
                FileHashes& files) {
  const fs::path real = fs::canonical(folder);
  if (std::find(above.begin(), above.end(), real) != above.end()) return;
  above.push_back(real);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name[0] == '.') continue;
    if (entry.is_directory()) {
      hash_files(entry.path(), prefix + name + "/", above, files);
    } else if (entry.is_regular_file() && !ends_with(name, ".md")) {
      files[prefix + name] = hash_file(entry.path().string());
    }
  }
  above.pop_back();
}

std::string hash_folder(const std::string& folder) {
  FileHashes files;
  std::vector<fs::path> above;
  hash_files(folder, "", above, files);
  std::string all;
  for (const auto& [name, hash] : files) all += fmt::format("{}\n{}\n", name, hash);
  return hash_bytes(all);
}

std::string hash_pattern(const std::string& pattern) {
  std::string all;
  try {
    for (const std::string& path : expand_paths({pattern})) all += hash_file(path) + "\n";
  } catch (const Error&) {  // no file fits
    return "";
  }
  return hash_bytes(all);
}

// Takes what options that are paths say.
class InputFinder : public OptionVisitor {
 public:
  explicit InputFinder(ContentHashes& hashes) : hashes_(hashes) {}

  const RecipeInputs& inputs() const { return inputs_; }
  const std::set<std::string>& missing() const { return missing_; }

  void visit_value(const char*, const OptionValue& value, const OptionInfo& info) override {
    for_each_text(value, [&](const std::string& text) { add(text, info); });
  }
  void visit_group(const char*, const std::string&, const Members& members) override {
    members(*this);
  }
  void visit_list(const char*, const std::string&, const List& list) override {
    for (size_t i = 0; i < list.size; ++i) list.element(*this, i);
  }

 private:
  void add(const std::string& value, const OptionInfo& info) {
    if (!info.is_path || value.empty()) return;
    const std::string& hash = hashes_.of(value);
    if (!hash.empty()) {
      inputs_[value] = hash;
    } else if (info.folder_marks.empty()) {
      missing_.insert(value);
    } else {
      add_model(value);
    }
  }

  void add_model(const std::string& name) {
    try {
      inputs_[name] = hashes_.of(resolve_model(name));
    } catch (const Error&) {
      // The name of an earlier stage, or a model that is not there, of which train() tells.
    }
  }

  ContentHashes& hashes_;
  RecipeInputs inputs_;
  std::set<std::string> missing_;  // files and models that are not there
};

std::string canonical(const ConfigNode& node, const RecipeInputs& inputs) {
  std::string text;
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return "~";
    case ConfigNode::Kind::kScalar: {
      auto found = inputs.find(node.scalar);
      if (found == inputs.end() && !node.scalar.empty()) {
        found = inputs.find(resolved_path(node));
      }
      return found == inputs.end() ? fmt::format("'{}'", node.scalar) : "#" + found->second;
    }
    case ConfigNode::Kind::kList:
      for (const ConfigNode& item : node.items) text += canonical(item, inputs) + ",";
      return "[" + text + "]";
    case ConfigNode::Kind::kMap: {
      std::map<std::string, std::string> members;
      for (const auto& [key, value] : node.members) members[key] = canonical(value, inputs);
      for (const auto& [key, value] : members) text += fmt::format("{}:{},", key, value);
      return fmt::format("'{}'{{{}}}", node.scalar, text);
    }
  }
  return text;
}

}  // namespace

const std::string& ContentHashes::of(const std::string& path) {
  const auto [place, is_new] = known_.emplace(path, "");
  if (!is_new) return place->second;
  if (file_exists(path)) {
    place->second = hash_file(path);
  } else if (folder_exists(path)) {
    place->second = hash_folder(path);
  } else if (path.find('*') != std::string::npos) {
    place->second = hash_pattern(path);
  }
  return place->second;
}

RecipeInputs find_inputs(const TrainOptions& options, ContentHashes& hashes) {
  TrainOptions visited = options;
  InputFinder finder(hashes);
  visited.visit(finder);
  SIMILE_CHECK(finder.missing().empty(), ErrorKind::kInput,
               fmt::format("not at hand: {}", fmt::join(finder.missing(), ", ")));
  return finder.inputs();
}

std::string recipe_fingerprint(const ConfigNode& recipe, const RecipeInputs& inputs) {
  return hash_bytes(fmt::format("{} {}", kTrainingVersion, canonical(recipe, inputs)));
}

}  // namespace simile
