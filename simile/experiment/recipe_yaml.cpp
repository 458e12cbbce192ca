// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/recipe_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "simile/train/train_options.h"

namespace simile {
namespace {

namespace fs = std::filesystem;
using NodeKind = ConfigNode::Kind;

constexpr size_t kFlowWidth = 90;

std::string quoted_scalar(const std::string& text) {
  const bool is_plain =
      !text.empty() && text != "null" && text != "~" &&
      (std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '.' ||
       (text[0] == '-' && text.size() > 1 && text[1] != ' ')) &&
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) {
                    return std::isalnum(c) != 0 ||
                           std::string("._-+/@ ").find(static_cast<char>(c)) != std::string::npos;
                  }) &&
      text.back() != ' ';
  return is_plain
             ? text
             : nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The members of a map that the recipe sets, each "key: value" in one line or several.
struct YamlMember {
  std::string key;
  std::string flow;                // the value in one line
  std::vector<std::string> block;  // and as lines below the key; empty: one line is all
};

std::string flow_map(const std::vector<YamlMember>& members) {
  std::vector<std::string> parts;
  for (const YamlMember& member : members) parts.push_back(member.key + ": " + member.flow);
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::vector<std::string> block_lines(const std::vector<YamlMember>& members) {
  std::vector<std::string> lines;
  for (const YamlMember& member : members) {
    const std::string line = member.key + ": " + member.flow;
    if (member.block.empty() || line.size() <= kFlowWidth) {
      lines.push_back(line);
      continue;
    }
    lines.push_back(member.key + ":");
    for (const std::string& inner : member.block) lines.push_back("  " + inner);
  }
  return lines;
}

// Walks as the reader of options does: what it would read is written.
class RecipeWriter : public OptionVisitor {
 public:
  RecipeWriter(const ConfigNode& node, std::string folder)
      : node_(node), folder_(std::move(folder)) {}

  std::vector<YamlMember> members;

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    if (find(name) == nullptr) return;
    const bool is_list = std::holds_alternative<OptionValue::List>(value.reference());
    std::vector<std::string> parts;
    for_each_text(value, [&](const std::string& text) { parts.push_back(write(text, info)); });
    if (parts.empty()) {
      members.push_back({name, show_option(value), {}});
    } else {
      members.push_back(
          {name, is_list ? fmt::format("[{}]", fmt::join(parts, ", ")) : parts[0], {}});
    }
  }
  void visit_group(const char* name, const std::string&, const Members& inner) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    RecipeWriter writer(*node, folder_);
    inner(writer);
    members.push_back({name, flow_map(writer.members), block_lines(writer.members)});
  }
  void visit_list(const char* name, const std::string&, const List& list) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    std::vector<std::string> flows, block;
    for (size_t i = 0; i < list.size; ++i) {
      const bool is_list = node->kind == NodeKind::kList;
      RecipeWriter writer(is_list ? node->items[i] : *node, folder_);
      list.element(writer, i);
      flows.push_back(flow_map(writer.members));
      const bool is_short = flows.back().size() <= kFlowWidth;
      const auto lines =
          is_short ? std::vector<std::string>{flows.back()} : block_lines(writer.members);
      for (size_t l = 0; l < lines.size(); ++l) block.push_back((l == 0 ? "- " : "  ") + lines[l]);
    }
    members.push_back({name, fmt::format("[{}]", fmt::join(flows, ", ")), block});
  }

 private:
  // Null where the recipe leaves the option out; the first option may be all that there is.
  const ConfigNode* find(const char* name) {
    const bool is_first = std::exchange(is_first_, false);
    const ConfigNode* found = node_.find(name);
    if (found == nullptr && is_first && !node_.scalar.empty()) return &node_;
    return found != nullptr && found->kind != NodeKind::kNull ? found : nullptr;
  }

  std::string write(const std::string& value, const OptionInfo& info) const {
    const bool is_path = info.is_path && fs::path(value).is_absolute();
    return quoted_scalar(is_path ? fs::path(value).lexically_relative(folder_).string() : value);
  }

  const ConfigNode& node_;
  std::string folder_;
  bool is_first_ = true;
};

}  // namespace

std::string recipe_to_yaml(const ConfigNode& recipe, const std::string& folder) {
  TrainOptions options;
  read_options(recipe, options);
  RecipeWriter writer(recipe, fs::absolute(folder).lexically_normal().string());
  options.visit(writer);
  return fmt::format("{}\n", fmt::join(block_lines(writer.members), "\n"));
}

}  // namespace simile
