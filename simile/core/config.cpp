// SPDX-License-Identifier: Apache-2.0
#include "simile/core/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

constexpr int kMaximumDepth = 64;       // a recipe nested deeper is a mistake or an attack
constexpr int kMaximumNodes = 1000000;  // so is one whose aliases unfold to more

class Converter {
 public:
  explicit Converter(const std::string& source) : source_(source) {}

  ConfigNode convert(const YAML::Node& node, int depth = 0) {
    ConfigNode out;
    out.source = source_;
    out.line = node.Mark().line + 1;
    SIMILE_CHECK(depth < kMaximumDepth, ErrorKind::kRecipe,
                 fmt::format("{}: nested more than {} levels deep", out.where(), kMaximumDepth));
    SIMILE_CHECK(++nodes_ < kMaximumNodes, ErrorKind::kRecipe,
                 fmt::format("{}: more than {} values once aliases are unfolded", out.where(),
                             kMaximumNodes));
    if (node.IsScalar()) {
      out.kind = ConfigNode::Kind::kScalar;
      out.scalar = node.Scalar();
    } else if (node.IsSequence()) {
      out.kind = ConfigNode::Kind::kList;
      for (const auto& item : node) out.items.push_back(convert(item, depth + 1));
    } else if (node.IsMap()) {
      out.kind = ConfigNode::Kind::kMap;
      convert_members(node, depth, out);
    }
    return out;
  }

 private:
  void convert_members(const YAML::Node& node, int depth, ConfigNode& out) {
    // What `<<` brings in (YAML 1.1), for keys that the map does not give itself.
    YAML::Node merged;
    for (const auto& member : node) {
      const std::string name = member.first.Scalar();
      if (name == "<<") {
        merged.reset(member.second);
        continue;
      }
      SIMILE_CHECK(out.find(name) == nullptr, ErrorKind::kRecipe,
                   fmt::format("{}:{}: key '{}' is given twice; keep one", source_,
                               member.first.Mark().line + 1, name));
      out.members.emplace_back(name, convert(member.second, depth + 1));
      out.members.back().second.line = member.first.Mark().line + 1;
    }
    if (merged.IsNull()) return;
    ConfigNode other = convert(merged, depth + 1);
    SIMILE_CHECK(
        other.kind == ConfigNode::Kind::kMap, ErrorKind::kRecipe,
        fmt::format("{}: '<<' should be an alias of a map, such as <<: *base", other.where()));
    // Before the map's own, as they are the base that those are put upon.
    std::vector<std::pair<std::string, ConfigNode>> members;
    for (auto& member : other.members) {
      if (out.find(member.first) == nullptr) members.push_back(std::move(member));
    }
    std::move(out.members.begin(), out.members.end(), std::back_inserter(members));
    out.members = std::move(members);
  }

  const std::string& source_;
  int nodes_ = 0;
};

ConfigNode* member_or_item(ConfigNode& node, const std::string& name, const std::string& key) {
  if (node.kind == ConfigNode::Kind::kList) {
    const bool digits =
        !name.empty() && name.size() < 7 &&
        std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    const size_t index = digits ? std::stoul(name) : node.items.size();
    SIMILE_CHECK(
        index < node.items.size(), ErrorKind::kRecipe,
        fmt::format("'{}': '{}' is not one of the {} items (numbered from 0) of the list at {}",
                    key, name, node.items.size(), node.where()));
    return &node.items[index];
  }
  const bool is_value = node.kind == ConfigNode::Kind::kScalar && !node.scalar.empty();
  if (is_value && name == "0") return &node;  // a value may stand for a list of one
  if (node.kind != ConfigNode::Kind::kMap) {
    node = ConfigNode{ConfigNode::Kind::kMap, node.scalar, {}, {}, node.source, node.line};
  }
  for (auto& member : node.members) {
    if (member.first == name) return &member.second;
  }
  if (name == "0" && !node.members.empty()) return &node;  // a map may stand for a list of one
  node.members.emplace_back(name, ConfigNode());
  node.members.back().second.source = "command line";
  return &node.members.back().second;
}

// Sets what the parts of `key` from `begin` on name below `node`.
void assign(ConfigNode& node, const std::string& key, size_t begin, const ConfigNode& value) {
  if (begin > key.size()) {
    node = value;
    return;
  }
  const size_t end = std::min(key.find('.', begin), key.size());
  const std::string name = key.substr(begin, end - begin);
  if (name != "*") {
    assign(*member_or_item(node, name, key), key, end + 1, value);
  } else if (node.kind == ConfigNode::Kind::kList) {
    for (ConfigNode& item : node.items) assign(item, key, end + 1, value);
  } else {
    assign(*member_or_item(node, "0", key), key, end + 1, value);
  }
}

}  // namespace

const ConfigNode* ConfigNode::find(const std::string& name) const {
  for (const auto& member : members) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

std::string ConfigNode::where() const {
  return line > 0 ? fmt::format("{}:{}", source, line) : source;
}

ConfigNode parse_config(const std::string& text, const std::string& source) {
  try {
    return Converter(source).convert(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    throw Error(ErrorKind::kRecipe,
                fmt::format("{}:{}: not valid YAML: {}", source, error.mark.line + 1, error.msg));
  }
}

ConfigNode load_config(const std::string& path) { return parse_config(read_file(path), path); }

void apply_override(ConfigNode& root, const std::string& key, const ConfigNode& value) {
  assign(root, key, 0, value);
}

void apply_override(ConfigNode& root, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  SIMILE_CHECK(
      equals != std::string::npos && equals > 0, ErrorKind::kUsage,
      fmt::format("'{}' is not an override; write key=value or key.sub=value", assignment));
  ConfigNode value = parse_config(assignment.substr(equals + 1), "command line");
  value.line = 0;
  apply_override(root, assignment.substr(0, equals), value);
}

}  // namespace simile
