// SPDX-License-Identifier: Apache-2.0
// An option is declared once: a plain struct with default values and one visit() that names each
// field. Recipe reading, run.json, --help, docs/options.md and search spaces are visitors over it.
//
//   struct WarmupOptions {
//     int64_t steps = 0;
//     void visit(OptionVisitor& v) { v.field("steps", steps, {"steps of linear warm-up", "steps",
//     0}); }
//   };
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "simile/core/config.h"

namespace simile {

struct OptionInfo {
  std::string help;
  std::string unit = {};  // "steps", "tokens", "bytes"; empty for plain numbers
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // for names: the values allowed; empty allows all
  bool is_path = false;  // a file name: in a recipe it is relative to the recipe's folder
  // A path without '/' is a name and stays as it is, unless it is a file or a folder that holds one
  // of these; empty: never a name.
  std::vector<std::string> folder_marks = {};
  bool has_commas = false;  // values of a list may: on the command line each has a flag of its own
};

// For a name that is one of `choices`.
inline OptionInfo choice_info(const std::string& help, const std::vector<std::string>& choices) {
  OptionInfo info;
  info.help = help;
  info.choices = choices;
  return info;
}

inline OptionInfo path_info(const std::string& help) {
  OptionInfo info;
  info.help = help;
  info.is_path = true;
  return info;
}

// For a folder that holds one of the files `marks`, or the name of one that is kept elsewhere (a
// built-in model).
inline OptionInfo name_or_path_info(const std::string& help,
                                    const std::vector<std::string>& marks) {
  OptionInfo info = path_info(help);
  info.folder_marks = marks;
  return info;
}

// For a list of conditions, whose values may hold commas.
inline OptionInfo conditions_info(const std::string& help) {
  OptionInfo info;
  info.help = help;
  info.has_commas = true;
  return info;
}

class OptionVisitor {
 public:
  using Members = std::function<void(OptionVisitor&)>;
  struct List {
    size_t size;
    std::function<void(size_t)> resize;
    std::function<void(OptionVisitor&, size_t)> element;
  };

  virtual ~OptionVisitor() = default;
  virtual void field(const char* name, bool& value, const OptionInfo& info) = 0;
  virtual void field(const char* name, int64_t& value, const OptionInfo& info) = 0;
  virtual void field(const char* name, double& value, const OptionInfo& info) = 0;
  virtual void field(const char* name, std::string& value, const OptionInfo& info) = 0;
  virtual void field(const char* name, std::vector<std::string>& value, const OptionInfo& info) = 0;
  virtual void visit_group(const char* name, const std::string& help, const Members& members) = 0;
  virtual void visit_list(const char* name, const std::string& help, const List& list) = 0;

  // The options that `members` visits belong to some values of the option `choice` of the same
  // struct, such as the order `words`: with another value they would do nothing, unseen, and
  // find_foreign_options() (simile/core/owned_options.h) refuses them. What documents them begins
  // with these values, where `choice` was visited before.
  void only_for(const char* choice, std::vector<std::string> values, const Members& members);

  // A struct with its own visit(). In a recipe, a single value in its place sets its first field:
  // `loss: mse` is `loss: {name: mse}`.
  template <typename T>
  void group(const char* name, T& options, const std::string& help) {
    visit_group(name, help, [&](OptionVisitor& v) { options.visit(v); });
  }

  // A list of such structs. In a recipe, one map in its place is a list of one.
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
  // For visitors that document: notes a name and its choices, and what an option's help begins
  // with: "words, clusters: ", "all but sgd: ", or nothing.
  void note_choices(const char* name, const OptionInfo& info) { choices_[name] = info.choices; }
  std::string owner_prefix() const;

 private:
  std::vector<Owners> owners_;
  std::map<std::string, std::vector<std::string>> choices_;
};

// Sets `options` from `node`. Errors (ErrorKind::kRecipe): an unknown key, named with file, line
// and the nearest known key; a value of the wrong type, outside its range or not among its choices.
template <typename T>
void read_options(const ConfigNode& node, T& options);

// `options` as JSON text, which read_options() reads back to the same values.
template <typename T>
std::string options_to_json(T& options);

// One table row per field: name, default, meaning. `options` should be default-constructed.
template <typename T>
std::string options_to_markdown(T& options, const std::string& title);

// The three above for a visit function instead of a struct.
void read_option_members(const ConfigNode& node, const OptionVisitor::Members& members);
std::string option_members_to_json(const OptionVisitor::Members& members);
std::string option_members_to_markdown(const OptionVisitor::Members& members,
                                       const std::string& title);

template <typename T>
void read_options(const ConfigNode& node, T& options) {
  read_option_members(node, [&](OptionVisitor& v) { options.visit(v); });
}
template <typename T>
std::string options_to_json(T& options) {
  return option_members_to_json([&](OptionVisitor& v) { options.visit(v); });
}
template <typename T>
std::string options_to_markdown(T& options, const std::string& title) {
  return option_members_to_markdown([&](OptionVisitor& v) { options.visit(v); }, title);
}

}  // namespace simile
