// SPDX-License-Identifier: Apache-2.0
#include "simile/core/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/core/file.h"
#include "simile/core/text_table.h"

namespace simile {
namespace {

using Kind = ConfigNode::Kind;
using Json = nlohmann::ordered_json;

const char* kind_name(Kind kind) {
  constexpr const char* kNames[] = {"nothing", "a single value", "a list", "a map"};
  return kNames[static_cast<size_t>(kind)];
}

// A recipe's paths start from its own folder, those of the command line from the working directory.
std::string resolve_path(const ConfigNode& node, const OptionInfo& info) {
  if (node.scalar.empty()) return "";
  const std::string path = resolved_path(node);
  const auto& marks = info.folder_marks;
  const auto slashes = std::count(node.scalar.begin(), node.scalar.end(), '/');
  // ORG/NAME is a model of the hub, unless it is a folder.
  const bool is_of_hub = slashes == 1 && node.scalar.front() != '/' && node.scalar.front() != '.' &&
                         !folder_exists(path);
  const bool is_name = !marks.empty() && (slashes == 0 || is_of_hub) && !file_exists(path) &&
                       std::none_of(marks.begin(), marks.end(), [&](const std::string& mark) {
                         return file_exists(join_path(path, mark));
                       });
  return is_name ? node.scalar : path;
}

// The dotted names of all options, those of a list as of its first element.
class PathCollector : public OptionVisitor {
 public:
  explicit PathCollector(std::string prefix) : prefix_(std::move(prefix)) {}
  std::vector<std::string> paths;

  void visit_value(const char* name, const OptionValue&, const OptionInfo&) override {
    paths.push_back(prefix_ + name);
  }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    paths.push_back(prefix_ + name);
    PathCollector inner(fmt::format("{}{}.", prefix_, name));
    members(inner);
    paths.insert(paths.end(), inner.paths.begin(), inner.paths.end());
  }
  void visit_list(const char* name, const std::string& help, const List& list) override {
    paths.push_back(prefix_ + name);
    visit_group(fmt::format("{}.0", name).c_str(), help,
                [&](OptionVisitor& v) { list.element(v, 0); });
  }

 private:
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

// "a whole number between 1 and 10"
std::string expected_number(const char* kind, const OptionInfo& info) {
  const bool has_low = std::isfinite(info.minimum), has_high = std::isfinite(info.maximum);
  if (has_low && has_high)
    return fmt::format("{} between {} and {}", kind, info.minimum, info.maximum);
  if (has_low) return fmt::format("{} of at least {}", kind, info.minimum);
  return has_high ? fmt::format("{} of at most {}", kind, info.maximum) : kind;
}

class Reader : public OptionVisitor {
 public:
  // `path` is the dotted name of the node, for messages; `root` visits the options of all of the
  // file, in which an unknown key is looked for.
  Reader(const ConfigNode& node, std::string path, const Members& root, OptionSource source)
      : node_(node), path_(std::move(path)), root_(root), is_json_(source == OptionSource::kJson) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    if (const ConfigNode* node = find(name, info.is_required)) read(full(name), *node, value, info);
  }

  static void read_members(const ConfigNode& node, const std::string& path, const Members& members,
                           const Members& root, OptionSource source) {
    if (node.kind == Kind::kNull && source != OptionSource::kJson) return;
    Reader reader(node, path, root, source);
    if (reader.is_json_ && node.kind != Kind::kMap) reader.fail(path, node, "an object");
    if (node.kind == Kind::kScalar || (node.kind == Kind::kMap && !node.scalar.empty())) {
      reader.shorthand_ = ConfigNode{Kind::kScalar, node.scalar, {}, {}, node.source, node.line};
    }
    if (node.kind == Kind::kList) {
      throw_error(ErrorKind::kRecipe, "{}: '{}' should be a map of options, found a list",
                  node.where(), path);
    }
    members(reader);
    if (!reader.is_json_) reader.check_unknown();
  }

 private:
  void read_members(const ConfigNode& node, const std::string& path, const Members& members) {
    read_members(node, path, members, root_,
                 is_json_ ? OptionSource::kJson : OptionSource::kRecipe);
  }

  void read(const std::string& name, const ConfigNode& node, const OptionValue& value,
            const OptionInfo& info) {
    std::visit([&](const auto& reference) { read_as(name, node, reference, info); },
               value.reference());
  }

  void read_as(const std::string& name, const ConfigNode& node, bool* value, const OptionInfo&) {
    const bool good = is_scalar(node, ConfigNode::Type::kTruth) &&
                      (node.scalar == "true" || node.scalar == "false");
    if (!good) fail(name, node, "true or false");
    *value = node.scalar == "true";
  }

  template <typename T>
  void read_as(const std::string& name, const ConfigNode& node, T* value, const OptionInfo& info) {
    using Limits = std::numeric_limits<T>;
    const char* kind = Limits::is_integer ? "a whole number" : "a number";
    char* end = nullptr;
    const char* begin = node.scalar.c_str();
    bool good = is_scalar(node, ConfigNode::Type::kNumber) && !node.scalar.empty();
    if constexpr (Limits::is_integer) {
      errno = 0;
      const long long number = std::strtoll(begin, &end, 10);
      good =
          good && *end == '\0' && errno == 0 && number >= Limits::min() && number <= Limits::max();
      if (good) *value = static_cast<T>(number);
    } else {
      const double number = std::strtod(begin, &end);
      good = good && *end == '\0' && std::isfinite(number);
      if (good) *value = static_cast<T>(number);
    }
    const auto number = static_cast<double>(*value);
    if (!good || number < info.minimum || number > info.maximum) {
      fail(name, node, expected_number(kind, info));
    }
  }

  void read_as(const std::string& name, const ConfigNode& node, std::string* value,
               const OptionInfo& info) {
    const bool is_text = is_scalar(node, ConfigNode::Type::kText);
    if (!is_text && (!is_json_ || info.choices.empty())) {
      fail(name, node, is_json_ ? "a text" : "a name or text");
    }
    check_choice(name, node, info, is_text);
    *value = info.is_path ? resolve_path(node, info) : node.scalar;
  }

  void read_as(const std::string&, const ConfigNode& node, ConfigNode* value, const OptionInfo&) {
    *value = node;
  }

  void read_as(const std::string& name, const ConfigNode& node, const OptionValue::List& list,
               const OptionInfo& info) {
    const auto example = list.element(list.size);
    const bool of_lists = std::holds_alternative<OptionValue::List>(example.reference());
    // A list may mean a list of lists with that one list.
    const bool is_one_list = of_lists && info.takes_one && node.kind == Kind::kList &&
                             !node.items.empty() && node.items[0].kind != Kind::kList;
    const bool is_list = node.kind == Kind::kList && !is_one_list;
    const bool of_structs = std::holds_alternative<Members>(example.reference());
    const bool of_texts = std::holds_alternative<std::string*>(example.reference());
    const bool fits = of_texts == (node.type == ConfigNode::Type::kText);
    const bool is_scalar =
        node.kind == Kind::kScalar && !of_lists && (!is_json_ || (info.takes_one && fits));
    const bool is_one = is_scalar || is_one_list || (of_structs && !is_json_);
    if (!is_list && !is_one) fail(name, node, expected_list(list, info));
    const size_t count = is_list ? node.items.size() : 1;
    list.resize(0);
    list.resize(count);
    for (size_t i = 0; i < count; ++i) {
      if (is_list && of_texts && !is_json_ && node.items[i].kind != Kind::kScalar) {
        fail(name, node.items[i], "a list of names or texts");
      }
      const bool is_numbered = of_structs || (is_json_ && is_list);
      read(is_numbered ? element_name(name, i) : name, is_list ? node.items[i] : node,
           list.element(i), of_lists ? info.with(&OptionInfo::takes_one, false) : info);
    }
  }

  void read_as(const std::string& name, const ConfigNode& node, const OptionValue::Map& map,
               const OptionInfo& info) {
    if (node.kind != Kind::kMap) fail(name, node, is_json_ ? "an object" : "a map");
    map.clear();
    for (const auto& [key, member] : node.members) {
      read(fmt::format("{}.{}", name, key), member, map.at(key), info);
    }
  }

  void read_as(const std::string& name, const ConfigNode& node, const OptionValue::Optional& value,
               const OptionInfo& info) {
    if (node.kind != Kind::kNull) read(name, node, value.value(), info);
  }

  void read_as(const std::string& name, const ConfigNode& node, const Members& members,
               const OptionInfo&) {
    read_members(node, name, members);
  }

  static std::string expected_list(const OptionValue::List& list, const OptionInfo& info) {
    const auto element = list.element(list.size);
    const auto& kind = element.reference();
    const bool is_text = std::holds_alternative<std::string*>(kind);
    const bool is_number =
        std::holds_alternative<int64_t*>(kind) || std::holds_alternative<int32_t*>(kind) ||
        std::holds_alternative<double*>(kind) || std::holds_alternative<float*>(kind);
    if (std::holds_alternative<Members>(kind)) return "a list of objects";
    if (is_text) return info.takes_one ? "a text or a list of texts" : "a list of names or texts";
    if (is_number) return "a list of numbers";
    return info.takes_one ? "a list of numbers or a list of such lists" : "a list";
  }

  // Whether the node is a single value that may be of this type.
  static bool is_scalar(const ConfigNode& node, ConfigNode::Type type) {
    return node.kind == Kind::kScalar &&
           (node.type == ConfigNode::Type::kUntold || node.type == type);
  }

  std::string full(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }

  std::string element_name(const std::string& list, size_t i) const {
    return fmt::format(is_json_ ? "{}[{}]" : "{}.{}", list, i);
  }

  const ConfigNode* find(const char* name, bool is_required) {
    known_.push_back(name);
    const ConfigNode* node = node_.find(name);
    if (node == nullptr && shorthand_ && known_.size() == 1) return &*shorthand_;
    if (node != nullptr && node->kind != Kind::kNull) return node;
    if (is_required) fail_missing(name);
    return nullptr;
  }

  [[noreturn]] void refuse(const ConfigNode& node, const std::string& name,
                           const std::string& problem) const {
    throw OptionError(is_json_ ? ErrorKind::kInput : ErrorKind::kRecipe, node.where(), name,
                      problem);
  }

  [[noreturn]] void fail(const std::string& name, const ConfigNode& node,
                         const std::string& expected) const {
    if (is_json_) {
      const std::string found = detail::describe_json(detail::json_of(node));
      refuse(node, name, fmt::format("\"{}\" must be {}, but it is {}", name, expected, found));
    }
    const std::string found =
        node.kind == Kind::kScalar ? "'" + node.scalar + "'" : std::string(kind_name(node.kind));
    refuse(node, name, fmt::format("'{}' should be {}, found {}", name, expected, found));
  }

  [[noreturn]] void fail_missing(const std::string& name) const {
    std::vector<std::string> given;
    for (const auto& member : node_.members) given.push_back(member.first);
    const std::string meant = nearest_name(name, given);
    const bool has_hint = !meant.empty() && meant != name;
    refuse(node_, full(name),
           fmt::format(
               is_json_ ? "\"{}\" is missing{}" : "'{}' is missing{}", full(name),
               has_hint ? fmt::format("; is \"{}\" meant to be it?", meant.substr(0, 40)) : ""));
  }

  void check_choice(const std::string& name, const ConfigNode& node, const OptionInfo& info,
                    bool is_text) const {
    const auto& choices = info.choices;
    if (choices.empty()) return;
    if (is_text && std::count(choices.begin(), choices.end(), node.scalar) > 0) return;
    fail(name, node,
         fmt::format("one of {}{}", fmt::join(choices, ", "),
                     is_json_ ? "" : did_you_mean(node.scalar, choices)));
  }

  // " (did you mean 'stages.0.epochs'?)": a key that belongs elsewhere in the file, another
  // trainer's name of an option, or a typo.
  std::string guess(const std::string& key) const {
    PathCollector all("");
    root_(all);
    const ForeignKey foreign = find_foreign_key(key);
    const bool is_foreign = foreign.key[0] != '\0';
    const std::string here = is_foreign ? find_path(all.paths, full(foreign.key)) : "";
    const std::string elsewhere = here.empty() ? find_path(all.paths, key) : "";
    if (!elsewhere.empty()) return fmt::format(" (did you mean '{}'?)", elsewhere);
    const std::string meant = is_foreign && here.empty() ? find_path(all.paths, foreign.key) : here;
    if (!meant.empty()) return fmt::format(" (did you mean '{}'{}?)", meant, foreign.note);
    return did_you_mean(key, known_);
  }

  void check_unknown() const {
    for (const auto& member : node_.members) {
      if (std::count(known_.begin(), known_.end(), member.first) > 0) continue;
      throw_error(ErrorKind::kRecipe, "{}: unknown key '{}'{}; the keys here are: {}",
                  member.second.where(), full(member.first), guess(member.first),
                  fmt::join(known_, ", "));
    }
  }

  const ConfigNode& node_;
  std::string path_;
  const Members& root_;
  bool is_json_;
  std::vector<std::string> known_;
  std::optional<ConfigNode> shorthand_;  // a single value, which is that of the first option
};

// A value as JSON: `of_struct` makes that of a struct's members.
template <typename OfStruct>
Json json_value(const OptionValue& value, const OfStruct& of_struct) {
  return std::visit(
      [&](const auto& reference) -> Json {
        using Reference = std::decay_t<decltype(reference)>;
        if constexpr (std::is_same_v<Reference, ConfigNode*>) {
          return detail::json_of(*reference);
        } else if constexpr (std::is_pointer_v<Reference>) {
          return *reference;
        } else if constexpr (std::is_same_v<Reference, OptionValue::List>) {
          Json items = Json::array();
          for (size_t i = 0; i < reference.size; ++i) {
            items.push_back(json_value(reference.element(i), of_struct));
          }
          return items;
        } else if constexpr (std::is_same_v<Reference, OptionValue::Map>) {
          Json members = Json::object();
          for (const std::string& name : reference.names) {
            members[name] = json_value(reference.at(name), of_struct);
          }
          return members;
        } else if constexpr (std::is_same_v<Reference, OptionValue::Optional>) {
          return reference.has_value ? json_value(reference.value(), of_struct) : Json();
        } else {
          return of_struct(reference);
        }
      },
      value.reference());
}

class JsonWriter : public OptionVisitor {
 public:
  Json json = Json::object();

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    Json written = json_value(value, write);
    const bool is_optional = std::holds_alternative<OptionValue::Optional>(value.reference());
    if (!is_optional || info.is_nullable || !written.is_null()) json[name] = std::move(written);
  }
  static Json write(const Members& members) {
    JsonWriter writer;
    members(writer);
    return std::move(writer.json);
  }
};

// A limit of a number of type T. Not a member: clang 14 makes no function of a member template that
// only a lambda calls.
template <typename T>
Json bound(double limit) {
  return std::is_integral_v<T> ? Json(static_cast<int64_t>(limit)) : Json(limit);
}

// The schema of a struct's JSON. Members that have an example instead of a value get no default.
class SchemaWriter : public OptionVisitor {
 public:
  Json schema = {{"type", "object"}};

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    Json& member = schema["properties"][name] = schema_of(value, info);
    const bool is_optional = std::holds_alternative<OptionValue::Optional>(value.reference());
    if (!is_optional && !info.is_required) {
      Json standard = json_value(value, JsonWriter::write);
      if (!standard.is_null() && standard != Json("") &&
          !(standard.is_structured() && standard.empty()))
        member["default"] = std::move(standard);
    }
    if (info.is_nullable) member["nullable"] = true;
    if (!info.help.empty()) member["description"] = owner_prefix() + info.help;
    if (info.is_required) schema["required"].push_back(name);
  }
  void visit_group(const char* name, const std::string& help, const Members& members) override {
    schema["properties"][name] = write(members);
    schema["properties"][name]["description"] = help;
  }
  void visit_list(const char* name, const std::string& help, const List& list) override {
    schema["properties"][name] = {
        {"type", "array"},
        {"items", write([&](OptionVisitor& v) { list.element(v, list.size); })},
        {"description", help}};
  }

  static Json write(const Members& members) {
    SchemaWriter writer;
    members(writer);
    return std::move(writer.schema);
  }

  static Json schema_of(const OptionValue& value, const OptionInfo& info) {
    return std::visit(
        [&](const auto& reference) -> Json {
          using Reference = std::decay_t<decltype(reference)>;
          if constexpr (std::is_same_v<Reference, bool*>) {
            return {{"type", "boolean"}};
          } else if constexpr (std::is_same_v<Reference, std::string*>) {
            Json text = {{"type", "string"}};
            if (!info.choices.empty()) {
              text["enum"] = info.choices;
            } else {
              if (std::isfinite(info.minimum)) text["minLength"] = bound<int64_t>(info.minimum);
              if (std::isfinite(info.maximum)) text["maxLength"] = bound<int64_t>(info.maximum);
            }
            return text;
          } else if constexpr (std::is_same_v<Reference, ConfigNode*>) {
            return shaped_schema(info);
          } else if constexpr (std::is_pointer_v<Reference>) {
            using Number = std::remove_pointer_t<Reference>;
            Json number = {{"type", std::is_integral_v<Number> ? "integer" : "number"}};
            if (std::isfinite(info.minimum)) number["minimum"] = bound<Number>(info.minimum);
            if (std::isfinite(info.maximum)) number["maximum"] = bound<Number>(info.maximum);
            return number;
          } else if constexpr (std::is_same_v<Reference, OptionValue::List>) {
            const OptionValue example = reference.element(reference.size);
            const bool of_lists = std::holds_alternative<OptionValue::List>(example.reference());
            Json element =
                schema_of(example, of_lists ? info.with(&OptionInfo::takes_one, false) : info);
            if (std::holds_alternative<OptionValue::Optional>(example.reference())) {
              element["nullable"] = true;
            }
            return one_or_list(element, info);
          } else if constexpr (std::is_same_v<Reference, OptionValue::Map>) {
            return {{"type", "object"},
                    {"additionalProperties", schema_of(reference.example(), info)}};
          } else if constexpr (std::is_same_v<Reference, OptionValue::Optional>) {
            return schema_of(reference.example(), info);
          } else {
            return write(reference);
          }
        },
        value.reference());
  }

 private:
  static Json one_or_list(const Json& element, const OptionInfo& info) {
    const Json list = {{"type", "array"}, {"items", element}};
    return info.takes_one ? Json{{"oneOf", Json::array({element, list})}} : list;
  }

  static Json shaped_schema(const OptionInfo& info) {
    if (info.shapes.empty()) return {{"type", "object"}};
    Json shapes = Json::array();
    for (const auto& shape : info.shapes) shapes.push_back(schema_of(*shape, {}));
    const Json element = shapes.size() == 1 ? shapes[0] : Json{{"oneOf", shapes}};
    return info.takes_one ? one_or_list(element, info) : element;
  }
};

// A value as documentation shows it: texts bare, lists in brackets.
std::string show_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_array()) return value.is_null() ? "" : value.dump();
  std::vector<std::string> parts;
  for (const Json& item : value) parts.push_back(show_value(item));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

class GivenVisitor : public OptionVisitor {
 public:
  GivenVisitor(OptionVisitor& inner, bool shows_defaults, std::vector<std::string>& given)
      : inner_(inner), shows_defaults_(shows_defaults), given_(given) {}

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    const auto take = [&given = given_, name = std::string(name), value] {
      if (std::find(given.begin(), given.end(), name) == given.end()) given.push_back(name);
      return value;
    };
    OptionInfo described = info;
    described.help = owner_prefix() + info.help;
    inner_.visit_value(
        name, OptionValue::Optional{false, take, [value] { return value; }, shows_defaults_},
        described);
  }
  void visit_group(const char*, const std::string&, const Members& members) override {
    members(*this);
  }
  void visit_list(const char* name, const std::string&, const List&) override {
    throw std::logic_error(fmt::format("list '{}' among options given one by one", name));
  }

 private:
  OptionVisitor& inner_;
  bool shows_defaults_;
  std::vector<std::string>& given_;
};

class MarkdownWriter : public OptionVisitor {
 public:
  explicit MarkdownWriter(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string text;

  void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) override {
    const std::string help = (info.is_required ? "required: " : "") + info.help;
    const auto* members = std::get_if<Members>(&value.reference());
    const auto* list = std::get_if<OptionValue::List>(&value.reference());
    const OptionValue element = list == nullptr ? value : list->element(0);
    if (members != nullptr) return nest(prefix_ + name, help, *members);
    members = std::get_if<Members>(&element.reference());
    if (members != nullptr) return nest(prefix_ + name + "[]", help, *members);
    const std::string standard = info.is_required ? "" : show_option(value);
    std::string meaning = (info.is_required ? "required: " : "") + owner_prefix() + info.help;
    if (!info.choices.empty()) {
      meaning += fmt::format(" (one of {})", fmt::join(info.choices, ", "));
    }
    if (!info.unit.empty()) meaning += fmt::format(" [{}]", info.unit);
    text += markdown_row({fmt::format("`{}{}`", prefix_, name),
                          standard.empty() ? "" : fmt::format("`{}`", standard), meaning});
  }

 private:
  void nest(const std::string& path, const std::string& help, const Members& members) {
    text += fmt::format("| **`{}`** | | {} |\n", path, owner_prefix() + help);
    MarkdownWriter inner(path + ".");
    members(inner);
    text += inner.text;
  }

  std::string prefix_;
};

}  // namespace

void OptionVisitor::visit_group(const char* name, const std::string& help, const Members& members) {
  visit_value(name, members, {help});
}

void OptionVisitor::visit_list(const char* name, const std::string& help, const List& list) {
  const auto element = [list](size_t i) -> OptionValue {
    return Members([list, i](OptionVisitor& v) { list.element(v, i); });
  };
  visit_value(name, OptionValue::List{list.size, list.resize, element}, {help});
}

void OptionVisitor::all_but(std::vector<std::string> names, const Members& members) {
  const std::vector<std::string> before = std::exchange(left_out_, std::move(names));
  members(*this);
  left_out_ = before;
}

bool OptionVisitor::is_left_out(const char* name) const {
  return std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end();
}

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

void visit_given(OptionVisitor& inner, bool shows_defaults, std::vector<std::string>& given,
                 const std::vector<std::string>& left_out, const OptionVisitor::Members& members) {
  GivenVisitor visitor(inner, shows_defaults, given);
  visitor.all_but(left_out, members);
}

ConfigNode select_members(const std::string& json, const std::vector<std::string>& names) {
  ConfigNode all = parse_json_config(json, "options");
  ConfigNode selected = all;
  selected.members.clear();
  for (auto& member : all.members) {
    if (std::find(names.begin(), names.end(), member.first) != names.end()) {
      selected.members.push_back(std::move(member));
    }
  }
  return selected;
}

void read_option_members(const ConfigNode& node, const OptionVisitor::Members& members,
                         OptionSource source) {
  Reader::read_members(node, "", members, members, source);
}

std::string option_members_to_schema(const OptionVisitor::Members& members) {
  return SchemaWriter::write(members).dump();
}

std::string option_value_to_json(const OptionValue& value, int indent) {
  return json_value(value, JsonWriter::write)
      .dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string option_value_to_schema(const OptionValue& value) {
  return SchemaWriter::schema_of(value, {}).dump();
}

std::string show_option(const OptionValue& value) {
  return show_value(json_value(value, JsonWriter::write));
}

void for_each_text(const OptionValue& value, const std::function<void(std::string&)>& take) {
  std::visit(
      [&](const auto& reference) {
        using Reference = std::decay_t<decltype(reference)>;
        if constexpr (std::is_same_v<Reference, std::string*>) {
          take(*reference);
        } else if constexpr (std::is_same_v<Reference, OptionValue::List>) {
          for (size_t i = 0; i < reference.size; ++i) for_each_text(reference.element(i), take);
        } else if constexpr (std::is_same_v<Reference, OptionValue::Map>) {
          for (const std::string& name : reference.names) for_each_text(reference.at(name), take);
        } else if constexpr (std::is_same_v<Reference, OptionValue::Optional>) {
          if (reference.has_value) for_each_text(reference.value(), take);
        }
      },
      value.reference());
}

std::string option_members_to_markdown(const OptionVisitor::Members& members,
                                       const std::string& title) {
  MarkdownWriter writer("");
  members(writer);
  return fmt::format("## {}\n\n| option | default | meaning |\n| --- | --- | --- |\n{}", title,
                     writer.text);
}

}  // namespace simile
