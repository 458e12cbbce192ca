// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/recipe_options.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

FoundOption describe(const Json& value) {
  if (value.is_object() && !value.empty()) return describe(value.front());
  const bool is_group =
      value.is_object() || (value.is_array() && !value.empty() && value[0].is_object());
  if (is_group) return {"a group of options"};
  if (value.is_array()) return {"a list of names"};
  if (value.is_boolean()) return {"true or false"};
  if (value.is_string()) return {"a name or text"};
  const bool is_whole = value.is_number_integer();
  return {is_whole ? "a whole number" : "a number", true, is_whole, value.get<double>()};
}

// Follows the parts of a path from part `next` on.
void find_below(const Json& value, const std::vector<std::string>& path, size_t next,
                std::vector<FoundOption>& found) {
  if (value.is_object() && next < path.size()) {
    const auto member = value.find(path[next]);
    if (member == value.end()) return;
    if (next + 1 == path.size()) return found.push_back(describe(*member));
    find_below(*member, path, next + 1, found);
  } else if (value.is_array() && next < path.size()) {
    for (size_t i = 0; i < value.size(); ++i) {
      const bool is_named = path[next] == "*" || path[next] == std::to_string(i);
      if (is_named || i == 0) find_below(value[i], path, is_named ? next + 1 : next, found);
    }
  }
}

// Writes what the reader of options would read.
class RecipeWriter : public OptionVisitor {
 public:
  RecipeWriter(const ConfigNode& node, const std::string& folder, YAML::Emitter& out)
      : node_(node), folder_(folder), out_(out) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    if (find(name) == nullptr) return;
    out_ << YAML::Key << name << YAML::Value;
    if (const auto* list = std::get_if<OptionValue::List>(&value.reference())) {
      out_ << YAML::Flow << YAML::BeginSeq;
      for (size_t i = 0; i < list->size; ++i) out_ << relative(list->element(i), info);
      out_ << YAML::EndSeq;
    } else {
      out_ << relative(value, info);
    }
  }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    out_ << YAML::Key << name << YAML::Value;
    put_map(*node, members);
  }
  void visit_list(const char* name, const std::string&, const List& list) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    out_ << YAML::Key << name << YAML::Value << YAML::BeginSeq;
    for (size_t i = 0; i < list.size; ++i) {
      put_map(node->kind == ConfigNode::Kind::kList ? node->items[i] : *node,
              [&](OptionVisitor& v) { list.element(v, i); });
    }
    out_ << YAML::EndSeq;
  }

 private:
  // Null where the recipe leaves the option out; the first option may be all that there is.
  const ConfigNode* find(const char* name) {
    const bool is_first = std::exchange(is_first_, false);
    const ConfigNode* found = node_.find(name);
    if (found == nullptr && is_first && !node_.scalar.empty()) return &node_;
    return found != nullptr && found->kind != ConfigNode::Kind::kNull ? found : nullptr;
  }

  void put_map(const ConfigNode& node, const Members& members) {
    out_ << YAML::BeginMap;
    RecipeWriter inner(node, folder_, out_);
    members(inner);
    out_ << YAML::EndMap;
  }

  std::string relative(const OptionValue& value, const OptionInfo& info) const {
    const std::string shown = show_option(value);
    const std::filesystem::path path(shown);
    return info.is_path && path.is_absolute() ? path.lexically_relative(folder_).string() : shown;
  }

  const ConfigNode& node_;
  const std::string& folder_;
  YAML::Emitter& out_;
  bool is_first_ = true;
};

}  // namespace

std::vector<FoundOption> find_options(const TrainOptions& options, const std::string& path) {
  std::vector<FoundOption> found;
  TrainOptions visited = options;
  find_below(Json::parse(options_to_json(visited)), split_path(path), 0, found);
  return found;
}

std::string recipe_to_yaml(const ConfigNode& recipe, const std::string& folder) {
  TrainOptions options;
  read_options(recipe, options);
  const std::string whole = std::filesystem::absolute(folder).lexically_normal().string();
  YAML::Emitter out;
  out << YAML::BeginMap;
  RecipeWriter writer(recipe, whole, out);
  options.visit(writer);
  out << YAML::EndMap;
  return fmt::format("{}\n", out.c_str());
}

}  // namespace simile
