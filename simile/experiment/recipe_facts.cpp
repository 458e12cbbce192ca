// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/recipe_facts.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "simile/core/hash.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

std::string canonical(const ConfigNode& node, const RecipeInputs& inputs) {
  std::string text;
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return "~";
    case ConfigNode::Kind::kScalar: {
      auto found = inputs.find(node.scalar);
      if (found == inputs.end() && !node.scalar.empty()) found = inputs.find(resolved_path(node));
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

void find_below(const Json& value, const std::string& path, std::vector<FoundOption>& found) {
  const size_t dot = std::min(path.find('.'), path.size());
  const std::string first = path.substr(0, dot);
  const std::string rest = path.substr(std::min(dot + 1, path.size()));
  if (value.is_object()) {
    const auto member = value.find(first);
    if (member == value.end()) return;
    if (rest.empty()) return found.push_back(describe(*member));
    find_below(*member, rest, found);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      const bool is_named = first == "*" || first == std::to_string(i);
      if (is_named || i == 0) find_below(value[i], is_named ? rest : path, found);
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

void check_map(const ConfigNode& node, const std::string& name) {
  if (node.kind == ConfigNode::Kind::kNull || node.kind == ConfigNode::Kind::kMap) return;
  fail_at(node, "'{}' should be a map of keys and values", name);
}

void check_may_vary(const std::string& path, const ConfigNode& place,
                    const std::vector<std::string>& fixed, const char* varied, const char* runs) {
  const bool is_fixed = std::count(fixed.begin(), fixed.end(), path.substr(0, path.find('.'))) > 0;
  check_at(!is_fixed, place, "'{}' cannot be {}: it is the same in all {}", path, varied, runs);
}

std::string recipe_fingerprint(const ConfigNode& recipe, const RecipeInputs& inputs) {
  return hash_bytes(fmt::format("{} {}", kTrainingVersion, canonical(recipe, inputs)));
}

std::vector<FoundOption> find_options(const TrainOptions& options, const std::string& path) {
  std::vector<FoundOption> found;
  find_below(Json::parse(options_to_json(options)), path, found);
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
