// SPDX-License-Identifier: Apache-2.0
#include "simile/core/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "simile/core/detail/foreign_keys.h"
#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

using Kind = ConfigNode::Kind;
using Json = nlohmann::ordered_json;

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "a single value";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

bool is_marked(const std::filesystem::path& path, const std::vector<std::string>& marks) {
  return file_exists(path.string()) ||
         std::any_of(marks.begin(), marks.end(),
                     [&](const std::string& mark) { return file_exists((path / mark).string()); });
}

// A recipe's paths start from its own folder, those of the command line from the working directory.
std::string resolve_path(const ConfigNode& node, const OptionInfo& info) {
  if (node.scalar.empty()) return "";
  const std::filesystem::path base =
      file_exists(node.source) ? std::filesystem::path(node.source).parent_path() : "";
  const std::filesystem::path path = std::filesystem::absolute(base / node.scalar);
  const bool is_name = !info.folder_marks.empty() && node.scalar.find('/') == std::string::npos &&
                       !is_marked(path, info.folder_marks);
  return is_name ? node.scalar : path.lexically_normal().string();
}

// The dotted names of all options, those of a list as of its first element.
class PathCollector : public OptionVisitor {
 public:
  explicit PathCollector(std::string prefix) : prefix_(std::move(prefix)) {}
  std::vector<std::string> paths;

  void field(const char* name, bool&, const OptionInfo&) override { add(name); }
  void field(const char* name, int64_t&, const OptionInfo&) override { add(name); }
  void field(const char* name, double&, const OptionInfo&) override { add(name); }
  void field(const char* name, std::string&, const OptionInfo&) override { add(name); }
  void field(const char* name, std::vector<std::string>&, const OptionInfo&) override { add(name); }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    nest(name, name, members);
  }
  void visit_list(const char* name, const std::string&, const List& list) override {
    nest(name, fmt::format("{}.0", name), [&](OptionVisitor& v) { list.element(v, 0); });
  }

 private:
  void add(const std::string& name) { paths.push_back(prefix_ + name); }
  void nest(const std::string& name, const std::string& inside, const Members& members) {
    add(name);
    PathCollector inner(prefix_ + inside + ".");
    members(inner);
    paths.insert(paths.end(), inner.paths.begin(), inner.paths.end());
  }

  std::string prefix_;
};

// The shortest of `paths` whose end is `key`, or nothing.
std::string find_path(const std::vector<std::string>& paths, const std::string& key) {
  std::string found;
  for (const std::string& path : paths) {
    if (path != key && !ends_with(path, "." + key)) continue;
    if (found.empty() || path.size() < found.size()) found = path;
  }
  return found;
}

class Reader : public OptionVisitor {
 public:
  // `path` is the dotted name of the node, for messages; `root` visits the options of all of the
  // file, in which an unknown key is looked for.
  Reader(const ConfigNode& node, std::string path, const Members& root)
      : node_(node), path_(std::move(path)), root_(root) {}

  void field(const char* name, bool& value, const OptionInfo&) override {
    const ConfigNode* node = find_scalar(name, "true or false");
    if (node == nullptr) return;
    if (node->scalar == "true" || node->scalar == "false") {
      value = node->scalar == "true";
    } else {
      fail(name, *node, "true or false");
    }
  }

  void field(const char* name, int64_t& value, const OptionInfo& info) override {
    const ConfigNode* node = find_scalar(name, "a whole number");
    if (node == nullptr) return;
    char* end = nullptr;
    errno = 0;
    const long long number = std::strtoll(node->scalar.c_str(), &end, 10);
    if (node->scalar.empty() || *end != '\0' || errno != 0) fail(name, *node, "a whole number");
    check_range(name, *node, static_cast<double>(number), info);
    value = number;
  }

  void field(const char* name, double& value, const OptionInfo& info) override {
    const ConfigNode* node = find_scalar(name, "a number");
    if (node == nullptr) return;
    char* end = nullptr;
    const double number = std::strtod(node->scalar.c_str(), &end);
    if (node->scalar.empty() || *end != '\0' || !std::isfinite(number))
      fail(name, *node, "a number");
    check_range(name, *node, number, info);
    value = number;
  }

  void field(const char* name, std::string& value, const OptionInfo& info) override {
    const ConfigNode* node = find_scalar(name, "a name or text");
    if (node == nullptr) return;
    check_choice(name, *node, info);
    value = info.is_path ? resolve_path(*node, info) : node->scalar;
  }

  void field(const char* name, std::vector<std::string>& value, const OptionInfo& info) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    std::vector<std::string> read;
    if (node->kind == Kind::kScalar) {
      check_choice(name, *node, info);
      read.push_back(info.is_path ? resolve_path(*node, info) : node->scalar);
    } else if (node->kind == Kind::kList) {
      for (const ConfigNode& item : node->items) {
        if (item.kind != Kind::kScalar) fail(name, item, "a list of names or texts");
        check_choice(name, item, info);
        read.push_back(info.is_path ? resolve_path(item, info) : item.scalar);
      }
    } else {
      fail(name, *node, "a list of names or texts");
    }
    value = read;
  }

  void visit_group(const char* name, const std::string&, const Members& members) override {
    if (const ConfigNode* node = find(name)) read_members(*node, full(name), members, root_);
  }

  void visit_list(const char* name, const std::string&, const List& list) override {
    const ConfigNode* node = find(name);
    if (node == nullptr) return;
    const bool is_list = node->kind == Kind::kList;
    const size_t count = is_list ? node->items.size() : 1;
    list.resize(0);
    list.resize(count);
    for (size_t i = 0; i < count; ++i) {
      read_members(
          is_list ? node->items[i] : *node, fmt::format("{}.{}", full(name), i),
          [&](OptionVisitor& v) { list.element(v, i); }, root_);
    }
  }

  static void read_members(const ConfigNode& node, const std::string& path, const Members& members,
                           const Members& root) {
    if (node.kind == Kind::kNull) return;
    Reader reader(node, path, root);
    if (node.kind == Kind::kScalar || (node.kind == Kind::kMap && !node.scalar.empty())) {
      reader.shorthand_ = ConfigNode{Kind::kScalar, node.scalar, {}, {}, node.source, node.line};
    }
    if (node.kind == Kind::kList) {
      throw Error(
          ErrorKind::kRecipe,
          fmt::format("{}: '{}' should be a map of options, found a list", node.where(), path));
    }
    members(reader);
    reader.check_unknown();
  }

 private:
  std::string full(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }

  const ConfigNode* find(const char* name) {
    known_.push_back(name);
    const ConfigNode* node = node_.find(name);
    if (node == nullptr && shorthand_ && known_.size() == 1) return &*shorthand_;
    return node != nullptr && node->kind != Kind::kNull ? node : nullptr;
  }

  const ConfigNode* find_scalar(const char* name, const char* expected) {
    const ConfigNode* node = find(name);
    if (node != nullptr && node->kind != Kind::kScalar) fail(name, *node, expected);
    return node;
  }

  [[noreturn]] void fail(const std::string& name, const ConfigNode& node,
                         const std::string& expected) {
    const std::string found =
        node.kind == Kind::kScalar ? "'" + node.scalar + "'" : std::string(kind_name(node.kind));
    throw Error(ErrorKind::kRecipe, fmt::format("{}: '{}' should be {}, found {}", node.where(),
                                                full(name), expected, found));
  }

  void check_range(const char* name, const ConfigNode& node, double number,
                   const OptionInfo& info) {
    if (number >= info.minimum && number <= info.maximum) return;
    if (std::isinf(info.maximum)) fail(name, node, fmt::format("at least {}", info.minimum));
    fail(name, node, fmt::format("between {} and {}", info.minimum, info.maximum));
  }

  void check_choice(const char* name, const ConfigNode& node, const OptionInfo& info) {
    const auto& choices = info.choices;
    if (choices.empty() || std::count(choices.begin(), choices.end(), node.scalar) > 0) return;
    const std::string nearest = nearest_name(node.scalar, choices);
    fail(name, node,
         fmt::format("one of {}{}", fmt::join(choices, ", "),
                     nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest)));
  }

  // ", did you mean 'stages.0.epochs'?": a key that stands elsewhere in the file, what trainers
  // elsewhere call an option, or a slip of the pen.
  std::string guess(const std::string& key) const {
    PathCollector all("");
    root_(all);
    const ForeignKey foreign = find_foreign_key(key);
    const bool is_foreign = foreign.key[0] != '\0';
    const std::string here = is_foreign ? find_path(all.paths, full(foreign.key)) : "";
    const std::string elsewhere = here.empty() ? find_path(all.paths, key) : "";
    if (!elsewhere.empty()) return fmt::format(", did you mean '{}'?", elsewhere);
    const std::string meant = is_foreign && here.empty() ? find_path(all.paths, foreign.key) : here;
    if (!meant.empty()) return fmt::format(", did you mean '{}'{}?", meant, foreign.note);
    const std::string nearest = nearest_name(key, known_);
    return nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest);
  }

  void check_unknown() const {
    for (const auto& member : node_.members) {
      if (std::count(known_.begin(), known_.end(), member.first) > 0) continue;
      throw Error(ErrorKind::kRecipe, fmt::format("{}: unknown key '{}'{}; the keys here are: {}",
                                                  member.second.where(), full(member.first),
                                                  guess(member.first), fmt::join(known_, ", ")));
    }
  }

  const ConfigNode& node_;
  std::string path_;
  const Members& root_;
  std::vector<std::string> known_;
  std::optional<ConfigNode> shorthand_;  // a single value, which is that of the first option
};

class JsonWriter : public OptionVisitor {
 public:
  Json json = Json::object();

  void field(const char* name, bool& value, const OptionInfo&) override { json[name] = value; }
  void field(const char* name, int64_t& value, const OptionInfo&) override { json[name] = value; }
  void field(const char* name, double& value, const OptionInfo&) override { json[name] = value; }
  void field(const char* name, std::string& value, const OptionInfo&) override {
    json[name] = value;
  }
  void field(const char* name, std::vector<std::string>& value, const OptionInfo&) override {
    json[name] = value;
  }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    json[name] = write(members);
  }
  void visit_list(const char* name, const std::string&, const List& list) override {
    Json items = Json::array();
    for (size_t i = 0; i < list.size; ++i) {
      items.push_back(write([&](OptionVisitor& v) { list.element(v, i); }));
    }
    json[name] = items;
  }

  static Json write(const Members& members) {
    JsonWriter writer;
    members(writer);
    return writer.json;
  }
};

class MarkdownWriter : public OptionVisitor {
 public:
  explicit MarkdownWriter(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string text;

  void field(const char* name, bool& value, const OptionInfo& info) override {
    row(name, value ? "true" : "false", info);
  }
  void field(const char* name, int64_t& value, const OptionInfo& info) override {
    row(name, std::to_string(value), info);
  }
  void field(const char* name, double& value, const OptionInfo& info) override {
    row(name, fmt::format("{}", value), info);
  }
  void field(const char* name, std::string& value, const OptionInfo& info) override {
    note_choices(name, info);
    row(name, value, info);
  }
  void field(const char* name, std::vector<std::string>& value, const OptionInfo& info) override {
    row(name, fmt::format("[{}]", fmt::join(value, ", ")), info);
  }
  void visit_group(const char* name, const std::string& help, const Members& members) override {
    nest(prefix_ + name, help, members);
  }
  void visit_list(const char* name, const std::string& help, const List& list) override {
    nest(prefix_ + name + "[]", help, [&](OptionVisitor& v) { list.element(v, 0); });
  }

 private:
  void row(const std::string& name, const std::string& value, const OptionInfo& info) {
    std::string help = owner_prefix() + info.help;
    if (!info.choices.empty()) help += fmt::format(" (one of {})", fmt::join(info.choices, ", "));
    if (!info.unit.empty()) help += fmt::format(" [{}]", info.unit);
    text += fmt::format("| `{}{}` | {} | {} |\n", prefix_, name,
                        value.empty() ? "" : fmt::format("`{}`", value), help);
  }

  void nest(const std::string& path, const std::string& help, const Members& members) {
    text += fmt::format("| **`{}`** | | {} |\n", path, owner_prefix() + help);
    MarkdownWriter inner(path + ".");
    members(inner);
    text += inner.text;
  }

  std::string prefix_;
};

}  // namespace

void OptionVisitor::only_for(const char* choice, std::vector<std::string> values,
                             const Members& members) {
  owners_.push_back({choice, std::move(values)});
  members(*this);
  owners_.pop_back();
}

std::string OptionVisitor::owner_prefix() const {
  std::string prefix;
  for (const Owners& owners : owners_) {
    const auto found = choices_.find(owners.choice);
    if (found == choices_.end()) continue;
    std::vector<std::string> others;
    for (const std::string& choice : found->second) {
      if (std::count(owners.values.begin(), owners.values.end(), choice) == 0)
        others.push_back(choice);
    }
    prefix += others.size() == 1 && owners.values.size() > 1
                  ? fmt::format("all but {}: ", others[0])
                  : fmt::format("{}: ", fmt::join(owners.values, ", "));
  }
  return prefix;
}

void read_option_members(const ConfigNode& node, const OptionVisitor::Members& members) {
  Reader::read_members(node, "", members, members);
}

std::string option_members_to_json(const OptionVisitor::Members& members) {
  return JsonWriter::write(members).dump(2);
}

std::string option_members_to_markdown(const OptionVisitor::Members& members,
                                       const std::string& title) {
  MarkdownWriter writer("");
  members(writer);
  return fmt::format("## {}\n\n| option | default | meaning |\n| --- | --- | --- |\n{}", title,
                     writer.text);
}

}  // namespace simile
