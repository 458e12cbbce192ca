// SPDX-License-Identifier: Apache-2.0
// One description of every option and record. A plain struct with default values names each of its
// fields once, in visit(). Readers of YAML and JSON, the JSON writer, command-line flags, --help,
// docs/options.md, the OpenAPI schema and search spaces are visitors over it.
//
//   struct WarmupOptions {
//     int64_t steps = 0;
//     void visit(OptionVisitor& v) {
//       v.field("steps", steps, {"Steps of linear warm-up", "steps", 0});
//     }
//   };
//
// A field is a bool, a whole number (int64_t, int32_t), a number (double, float), a text, a raw
// part of the file (ConfigNode) or another such struct. It may also be an optional, a list
// (std::vector) or a map (std::map by text) of any of these, nested as needed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "simile/core/config.h"
#include "simile/core/error.h"

namespace simile {

class OptionValue;

struct OptionInfo {
  std::string help;
  std::string unit = {};  // "steps", "tokens", "bytes"; empty for plain numbers
  // For a text: its length in bytes, which the schema states and readers do not check.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // for names: the values allowed; empty allows all
  bool is_path = false;  // a file name: in a recipe it is relative to the recipe's folder
  // A path without '/' is a name and stays as it is, unless it is a file or a folder that holds one
  // of these; empty: never a name.
  std::vector<std::string> folder_marks = {};
  bool has_commas = false;   // values of a list may: on the command line each has a flag of its own
  bool takes_words = false;  // on the command line several values may follow the flag of a list
  bool is_required = false;  // a reader refuses input without it
  bool takes_one = false;    // in JSON, one value in place of a list is a list of one
  bool is_nullable = false;  // in JSON, an optional without a value is written as null
  // For a raw part of the file: examples of the types it may have, for the schema.
  std::vector<std::shared_ptr<const OptionValue>> shapes = {};
  // On the command line: names in place of that of the field, as "-o,--output"; a name without
  // dashes is that of a positional argument.
  std::string flags = {};

  // Copies with one of these set.
  OptionInfo required() const { return with(&OptionInfo::is_required, true); }
  OptionInfo one_or_more() const { return with(&OptionInfo::takes_one, true); }
  OptionInfo nullable() const { return with(&OptionInfo::is_nullable, true); }
  OptionInfo named(const std::string& names) const { return with(&OptionInfo::flags, names); }
  OptionInfo words() const { return with(&OptionInfo::takes_words, true); }
  template <typename T>
  OptionInfo with(T OptionInfo::*member, const T& value) const {
    OptionInfo info = *this;
    info.*member = value;
    return info;
  }
  template <typename... T>
  OptionInfo shaped_as() const;
};

// For a name that is one of `choices`.
inline OptionInfo choice_info(const std::string& help, const std::vector<std::string>& choices) {
  return OptionInfo{help}.with(&OptionInfo::choices, choices);
}

inline OptionInfo path_info(const std::string& help) {
  return OptionInfo{help}.with(&OptionInfo::is_path, true);
}

// For a folder that holds one of the files `marks`, or the name of one that is kept elsewhere (a
// built-in model).
inline OptionInfo name_or_path_info(const std::string& help,
                                    const std::vector<std::string>& marks) {
  return path_info(help).with(&OptionInfo::folder_marks, marks);
}

// For a list of conditions, whose values may hold commas.
inline OptionInfo conditions_info(const std::string& help) {
  return OptionInfo{help}.with(&OptionInfo::has_commas, true);
}

class OptionVisitor;

// A reference to a field's value.
class OptionValue {
 public:
  using Members = std::function<void(OptionVisitor&)>;  // visits those of a struct
  struct List {
    size_t size;
    std::function<void(size_t)> resize;
    std::function<OptionValue(size_t)> element;  // beyond the size: an example, for documentation
  };
  struct Map {
    std::vector<std::string> names;
    std::function<void()> clear;
    std::function<OptionValue(const std::string&)> at;  // made where it is not there
    std::function<OptionValue()> example;               // for documentation
  };
  struct Optional {
    bool has_value;
    std::function<OptionValue()> value;  // made where there is none
    std::function<OptionValue()> example;
    bool shows_example = false;  // documentation gives its value as the default
  };
  using Reference = std::variant<bool*, int64_t*, int32_t*, double*, float*, std::string*,
                                 ConfigNode*, List, Map, Optional, Members>;

  template <typename Kind>
  OptionValue(Kind reference) : reference_(std::move(reference)) {}
  OptionValue(Reference reference, std::shared_ptr<void> owner)
      : reference_(std::move(reference)), owner_(std::move(owner)) {}
  const Reference& reference() const { return reference_; }

  template <typename T>
  static OptionValue of(T& value);
  template <typename T>
  static OptionValue of(std::vector<T>& items);
  template <typename T>
  static OptionValue of(std::map<std::string, T>& items);
  template <typename T>
  static OptionValue of(std::optional<T>& value);
  template <typename T>
  static OptionValue example() {
    auto value = std::make_shared<T>();
    return {of(*value).reference(), value};
  }

 private:
  Reference reference_;
  std::shared_ptr<void> owner_;  // of an example
};

template <typename T, typename = void>
struct HasVisit : std::false_type {};
template <typename T>
struct HasVisit<T, std::void_t<decltype(std::declval<T&>().visit(std::declval<OptionVisitor&>()))>>
    : std::true_type {};

class OptionVisitor {
 public:
  using Members = OptionValue::Members;
  struct List {
    size_t size;
    std::function<void(size_t)> resize;
    std::function<void(OptionVisitor&, size_t)> element;
  };

  virtual ~OptionVisitor() = default;
  virtual void visit_value(const char* name, const OptionValue& value, const OptionInfo& info) = 0;
  // A struct or a list of structs; as long as a visitor makes no difference, a value like others.
  virtual void visit_group(const char* name, const std::string& help, const Members& members);
  virtual void visit_list(const char* name, const std::string& help, const List& list);

  template <typename T>
  void field(const char* name, T& value, const OptionInfo& info) {
    choices_[name] = info.choices;
    if (!is_left_out(name)) visit_value(name, OptionValue::of(value), info);
  }

  // The fields that `members` visits, except those named.
  void all_but(std::vector<std::string> names, const Members& members);

  // A field that input must have, and output always has.
  template <typename T>
  void required(const char* name, T& value, const std::string& help = "") {
    field(name, value, OptionInfo{help}.required());
  }

  // The options that `members` visits belong to some values of the option `choice` of the same
  // struct, such as the order `words`: with another value they would do nothing, unseen, and
  // find_foreign_options() (simile/core/unused_options.h) refuses them. Their documentation begins
  // with these values if `choice` was visited before.
  void only_for(const char* choice, std::vector<std::string> values, const Members& members);

  // A struct with its own visit(). In a recipe, a single value in its place sets its first field:
  // `loss: mse` is `loss: {name: mse}`.
  template <typename T>
  void group(const char* name, T& options, const std::string& help) {
    visit_group(name, help, [&](OptionVisitor& v) { options.visit(v); });
  }

  // A list of such structs. In a recipe, a single map means a list of one.
  template <typename T>
  void list(const char* name, std::vector<T>& items, const std::string& help) {
    visit_list(name, help,
               {items.size(), [&](size_t size) { items.resize(size); },
                [&](OptionVisitor& v, size_t i) {
                  if (i < items.size()) {
                    items[i].visit(v);
                  } else {
                    T example;  // documentation visits one element of an empty list
                    example.visit(v);
                  }
                }});
  }

 protected:
  struct Owners {
    std::string choice;
    std::vector<std::string> values;
  };
  const std::vector<Owners>& owners() const { return owners_; }  // of the option visited now
  // The beginning of the current option's help: "words, clusters: ", "all but sgd: ", or nothing.
  std::string owner_prefix() const;

 private:
  bool is_left_out(const char* name) const;

  std::vector<Owners> owners_;
  std::map<std::string, std::vector<std::string>> choices_;
  std::vector<std::string> left_out_;
};

// Fields of a struct that are given one by one, such as flags, and override those of another. To a
// visitor each is an optional without a value. Must stay where it is while a visitor is in use.
template <typename T>
class GivenOptions {
 public:
  // With `defaults` documentation shows those of the struct.
  enum class Defaults { kHidden, kShown };
  explicit GivenOptions(Defaults defaults = Defaults::kHidden) : defaults_(defaults) {}

  void visit(OptionVisitor& v, const std::vector<std::string>& left_out = {});
  const std::vector<std::string>& names() const { return names_; }
  bool any() const { return !names_.empty(); }
  const T& values() const { return values_; }  // given ones, and defaults
  T& values() { return values_; }
  T over(T kept) const;

 private:
  Defaults defaults_;
  T values_;
  std::vector<std::string> names_;
};

// The source that a reader reads. People write recipes: an unknown key is an error, a single value
// means a list of one, and the field decides between text and number. Programs write JSON: unknown
// keys are ignored, and JSON's own types count.
enum class OptionSource { kRecipe, kJson };

// A value that cannot be used. what() is the place in the file, ": " and the problem.
class OptionError : public Error {
 public:
  OptionError(ErrorKind kind, const std::string& where, std::string name, std::string text)
      : Error(kind, where + ": " + text), key(std::move(name)), problem(std::move(text)) {}
  std::string key;      // "stages.0.epochs"; "documents[0].id" in JSON
  std::string problem;  // for messages that name no file
};

// Sets `options` from `node`. Errors (OptionError of ErrorKind::kRecipe, or kInput of JSON): a
// missing key that is required; a value of the wrong type, outside its range or not among its
// choices; in a recipe an unknown key, with the nearest known one.
template <typename T>
void read_options(const ConfigNode& node, T& options, OptionSource source = OptionSource::kRecipe);

// The same from JSON text; `name` is that of the file, for messages.
template <typename T>
void read_json_options(std::string_view json, const std::string& name, T& options) {
  read_options(parse_json_config(json, name), options, OptionSource::kJson);
}

// `options`, a struct or any other value that a field may have, as JSON text, which read_options()
// reads back to the same values. An optional without a value is left out unless it is nullable.
// `indent` below 0: in one line.
template <typename T>
std::string options_to_json(const T& options, int indent = 2);

// The JSON schema (as OpenAPI 3.0 has it) of such text: types, bounds, choices, defaults, help and
// which keys are required.
template <typename T>
std::string options_to_schema();

// A value as documentation shows it: a text bare, a list in brackets, nothing for no value.
std::string show_option(const OptionValue& value);

// Calls `take` with each text in the value, also within lists and maps.
void for_each_text(const OptionValue& value, const std::function<void(std::string&)>& take);

// One table row per field: name, default, meaning. `options` should be default-constructed.
template <typename T>
std::string options_to_markdown(T& options, const std::string& title);

// Those above for a visit function, or a value of any type, instead of a struct.
void read_option_members(const ConfigNode& node, const OptionVisitor::Members& members,
                         OptionSource source = OptionSource::kRecipe);
std::string option_members_to_schema(const OptionVisitor::Members& members);
std::string option_value_to_json(const OptionValue& value, int indent = 2);
std::string option_value_to_schema(const OptionValue& value);
std::string option_members_to_markdown(const OptionVisitor::Members& members,
                                       const std::string& title);

template <typename T>
void read_options(const ConfigNode& node, T& options, OptionSource source) {
  read_option_members(
      node, [&](OptionVisitor& v) { options.visit(v); }, source);
}
template <typename T>
std::string options_to_json(const T& options, int indent) {
  T& visited = const_cast<T&>(options);  // a writer changes nothing
  return option_value_to_json(OptionValue::of(visited), indent);
}
template <typename T>
std::string options_to_schema() {
  return option_value_to_schema(OptionValue::example<T>());
}
template <typename T>
std::string options_to_markdown(T& options, const std::string& title) {
  return option_members_to_markdown([&](OptionVisitor& v) { options.visit(v); }, title);
}

// Visits `members` for `inner` with every field as an optional, whose names are added to `given` as
// they get a value.
void visit_given(OptionVisitor& inner, bool shows_defaults, std::vector<std::string>& given,
                 const std::vector<std::string>& left_out, const OptionVisitor::Members& members);
// The members of `json` called `names`.
ConfigNode select_members(const std::string& json, const std::vector<std::string>& names);

template <typename T>
void GivenOptions<T>::visit(OptionVisitor& v, const std::vector<std::string>& left_out) {
  visit_given(v, defaults_ == Defaults::kShown, names_, left_out,
              [this](OptionVisitor& fields) { values_.visit(fields); });
}
template <typename T>
T GivenOptions<T>::over(T kept) const {
  read_options(select_members(options_to_json(values_), names_), kept, OptionSource::kJson);
  return kept;
}
template <typename... T>
OptionInfo OptionInfo::shaped_as() const {
  return with(&OptionInfo::shapes,
              {std::make_shared<const OptionValue>(OptionValue::example<T>())...});
}

template <typename T>
OptionValue OptionValue::of(T& value) {
  if constexpr (HasVisit<T>::value) {
    return {Members([&value](OptionVisitor& v) { value.visit(v); })};
  } else {
    return {Reference(&value)};
  }
}
template <typename T>
OptionValue OptionValue::of(std::vector<T>& items) {
  return {List{items.size(), [&items](size_t size) { items.resize(size); },
               [&items](size_t i) { return i < items.size() ? of(items[i]) : example<T>(); }}};
}
template <typename T>
OptionValue OptionValue::of(std::map<std::string, T>& items) {
  Map map{{},
          [&items] { items.clear(); },
          [&items](const std::string& name) { return of(items[name]); },
          [] { return example<T>(); }};
  for (const auto& item : items) map.names.push_back(item.first);
  return {std::move(map)};
}
template <typename T>
OptionValue OptionValue::of(std::optional<T>& value) {
  return {Optional{value.has_value(), [&value] { return of(value ? *value : value.emplace()); },
                   [] { return example<T>(); }}};
}

}  // namespace simile
