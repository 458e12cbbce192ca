// SPDX-License-Identifier: Apache-2.0
#include "simile/core/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unicode/utf8.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/file_kind.h"

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
    SIMILE_CHECK(depth < kMaximumDepth, ErrorKind::kRecipe, "{}: nested more than {} levels deep",
                 out.where(), kMaximumDepth);
    SIMILE_CHECK(++nodes_ < kMaximumNodes, ErrorKind::kRecipe,
                 "{}: more than {} values once aliases are unfolded", out.where(), kMaximumNodes);
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
    // Members merged in with `<<` (YAML 1.1); keys that the map gives itself take precedence.
    YAML::Node merged;
    for (const auto& member : node) {
      const std::string name = member.first.Scalar();
      if (name == "<<") {
        merged.reset(member.second);
        continue;
      }
      SIMILE_CHECK(out.find(name) == nullptr, ErrorKind::kRecipe,
                   "{}:{}: key '{}' is given twice; keep one", source_,
                   member.first.Mark().line + 1, name);
      out.members.emplace_back(name, convert(member.second, depth + 1));
      out.members.back().second.line = member.first.Mark().line + 1;
    }
    if (merged.IsNull()) return;
    ConfigNode other = convert(merged, depth + 1);
    SIMILE_CHECK(other.kind == ConfigNode::Kind::kMap, ErrorKind::kRecipe,
                 "{}: '<<' should be an alias of a map, such as <<: *base", other.where());
    // Before the map's own members, which override these.
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
    SIMILE_CHECK(index < node.items.size(), ErrorKind::kRecipe,
                 "'{}': '{}' is not one of the {} items (numbered from 0) of the list at {}", key,
                 name, node.items.size(), node.where());
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

namespace fs = std::filesystem;

constexpr std::string_view kVariant = "variant=";
constexpr std::string_view kData = "$data/";

void apply_variant(ConfigNode& recipe, const std::string& name) {
  const ConfigNode* variants = recipe.find("variants");
  const ConfigNode* found = variants == nullptr ? nullptr : variants->find(name);
  SIMILE_CHECK(found != nullptr, ErrorKind::kRecipe,
               "{}: there is no variant '{}'; the recipe has [{}]", recipe.source, name,
               fmt::join(recipe_variants(recipe), ", "));
  const ConfigNode variant = *found;  // the recipe is changed below
  for (const auto& [key, value] : variant.members) apply_override(recipe, key, value);
  const ConfigNode* run = recipe.find("name");
  if (run == nullptr || variant.find("name") != nullptr) return;
  apply_override(recipe, fmt::format("name={}-{}", run->scalar, name));
}

// A path keeps the place it starts from: that of `data`, the recipe or the command line.
void place_in_data(ConfigNode& node, const ConfigNode& data) {
  if (node.kind == ConfigNode::Kind::kScalar && starts_with(node.scalar, kData)) {
    SIMILE_CHECK(!data.scalar.empty(), ErrorKind::kRecipe,
                 "{}: '{}' stands in the folder `data`, which the recipe does not "
                 "give; set data=FOLDER",
                 node.where(), node.scalar);
    node.scalar = fmt::format("{}/{}", data.scalar, node.scalar.substr(kData.size()));
    node.source = data.source;
  }
  for (ConfigNode& item : node.items) place_in_data(item, data);
  for (auto& member : node.members) place_in_data(member.second, data);
}

constexpr std::pair<const char*, ForeignKey> kForeignKeys[] = {
    {"anchor", {"left", ""}},
    {"answer", {"right", ""}},
    {"batch_sampler", {"order", ""}},
    {"bf16", {"compute", " with the value bf16"}},
    {"columns", {"left", ", and right for the second text"}},
    {"dataset", {"data", ""}},
    {"eval_dataset", {"evaluations", ""}},
    {"eval_steps", {"selection.every_steps", ""}},
    {"evaluation_steps", {"selection.every_steps", ""}},
    {"evaluator", {"evaluations", ""}},
    {"fp16", {"compute", " with the value bf16"}},
    {"gradient_accumulation_steps", {"accumulation", ""}},
    {"load_best_model_at_end", {"selection.metric", ""}},
    {"loss_function", {"loss", ""}},
    {"lr", {"learning_rate", ""}},
    {"lr_scheduler_type", {"schedule.name", ""}},
    {"max_seq_length", {"max_length", ""}},
    {"max_steps", {"steps", ""}},
    {"metric_for_best_model", {"selection.metric", ""}},
    {"mini_batch_size", {"chunk_tokens", ""}},
    {"model_name_or_path", {"model", ""}},
    {"negative", {"negatives", ""}},
    {"num_epochs", {"epochs", ""}},
    {"num_train_epochs", {"epochs", ""}},
    {"per_device_train_batch_size", {"batch_size", ""}},
    {"positive", {"right", ""}},
    {"query", {"left", ""}},
    {"question", {"left", ""}},
    {"scheduler", {"schedule.name", ""}},
    {"sentence1", {"left", ""}},
    {"sentence2", {"right", ""}},
    {"temperature", {"scale", ", which is 1 / it"}},
    {"train_batch_size", {"batch_size", ""}},
    {"train_dataset", {"data", ""}},
    {"train_loss", {"loss", ""}},
    {"use_amp", {"compute", " with the value bf16"}},
    {"warmup_ratio", {"schedule.warmup_fraction", ""}},
};

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
    throw_error(ErrorKind::kRecipe, "{}:{}: not valid YAML: {}", source, error.mark.line + 1,
                error.msg);
  }
}

ConfigNode load_config(const std::string& path) {
  const std::string text = read_file(path);
  const std::string foreign = describe_foreign(text);
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, "cannot read {}: it {}", path, foreign);
  const auto size = static_cast<int32_t>(std::min<size_t>(text.size(), INT32_MAX));
  int line = 1;
  for (int32_t i = 0; i < size;) {
    UChar32 character = 0;
    U8_NEXT(text.data(), i, size, character);
    line += character == '\n' ? 1 : 0;
    SIMILE_CHECK(character >= 0, ErrorKind::kRecipe,
                 "{}:{}: a byte is not UTF-8; save the file as UTF-8, or convert it from Latin-1: "
                 "iconv -f latin1 -t utf-8 FILE > NEW",
                 path, line);
  }
  return parse_config(text, path);
}

void apply_override(ConfigNode& root, const std::string& key, const ConfigNode& value) {
  assign(root, key, 0, value);
}

void apply_override(ConfigNode& root, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  SIMILE_CHECK(equals != std::string::npos && equals > 0, ErrorKind::kUsage,
               "'{}' is not an override; write key=value or key.sub=value", assignment);
  ConfigNode value = parse_config(assignment.substr(equals + 1), "command line");
  value.line = 0;
  apply_override(root, assignment.substr(0, equals), value);
}

std::string resolved_path(const ConfigNode& node) {
  const fs::path base = file_exists(node.source) ? fs::path(node.source).parent_path() : fs::path();
  return fs::absolute(base / node.scalar).lexically_normal().string();
}

void apply_recipe_override(ConfigNode& recipe, const std::string& key, const ConfigNode& value) {
  if (key != "variant") {
    apply_override(recipe, key, value);
    return;
  }
  if (!value.scalar.empty()) apply_variant(recipe, value.scalar);
  for (const ConfigNode& name : value.items) apply_variant(recipe, name.scalar);
}

ConfigNode load_recipe(const std::string& path, const std::vector<std::string>& overrides,
                       DataFolder folder) {
  // A data table given as a recipe would otherwise be reported as bad YAML.
  for (const char* ending : {".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".csv.gz", ".tsv.gz"}) {
    SIMILE_CHECK(!ends_with(path, ending), ErrorKind::kRecipe,
                 "'{0}' is data, and what is given here is a recipe (.yaml): `simile init {0}` "
                 "writes one for it, and `simile train --data {0}` makes one and trains by it",
                 path);
  }
  ConfigNode recipe = load_config(path);
  const bool is_list = recipe.kind == ConfigNode::Kind::kList;
  const bool is_text = recipe.kind == ConfigNode::Kind::kScalar && !recipe.scalar.empty();
  SIMILE_CHECK(!is_list && !is_text, ErrorKind::kRecipe,
               "{}: expected lines such as `model: simile-mini-3`, a map of options, "
               "found {}; is it a recipe?",
               recipe.source, is_list ? "a list" : "plain text");
  for (const std::string& assignment : overrides) {
    if (starts_with(assignment, kVariant)) {
      apply_variant(recipe, assignment.substr(kVariant.size()));
    } else {
      apply_override(recipe, assignment);
    }
  }
  return finish_recipe(std::move(recipe), path, folder);
}

ConfigNode finish_recipe(ConfigNode recipe, const std::string& name, DataFolder folder) {
  const ConfigNode* found = recipe.find("data");
  const ConfigNode data = found == nullptr ? ConfigNode() : *found;
  auto& members = recipe.members;
  members.erase(std::remove_if(members.begin(), members.end(),
                               [](const auto& member) {
                                 return member.first == "variants" || member.first == "tune" ||
                                        member.first == "data";
                               }),
                members.end());
  const bool is_empty = data.scalar.empty() && data.items.empty() && data.members.empty();
  if (folder == DataFolder::kMustExist && !is_empty) {
    SIMILE_CHECK(data.kind == ConfigNode::Kind::kScalar, ErrorKind::kRecipe,
                 "{}: `data` should be one folder, that of the files named $data/...",
                 data.where());
    const std::string place = resolved_path(data);
    SIMILE_CHECK(folder_exists(place), ErrorKind::kInput,
                 "{}: `data: {}`{} is no folder: there is none at '{}'; set data=FOLDER",
                 data.line > 0 ? data.where() : name, data.scalar,
                 data.line > 0 ? "" : " from the command line", place);
  }
  place_in_data(recipe, data);
  return recipe;
}

std::vector<std::string> recipe_variants(const ConfigNode& recipe) {
  std::vector<std::string> names;
  const ConfigNode* variants = recipe.find("variants");
  if (variants == nullptr) return names;
  for (const auto& member : variants->members) names.push_back(member.first);
  return names;
}

ForeignKey find_foreign_key(const std::string& name) {
  for (const auto& [foreign, here] : kForeignKeys) {
    if (name == foreign) return here;
  }
  return {"", ""};
}

}  // namespace simile
