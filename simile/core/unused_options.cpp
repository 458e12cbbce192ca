// SPDX-License-Identifier: Apache-2.0
#include "simile/core/unused_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/file.h"

namespace simile {
namespace {

struct OptionState {
  std::string name;  // with those of its groups before it
  std::string json;
  bool is_empty;
  std::vector<std::string> owners;  // values of the choice that take it; empty: all
};

// The value of `choice`, and the state of all options in the order of visit().
class Collector : public OptionVisitor {
 public:
  explicit Collector(std::string choice = "") : choice_(std::move(choice)) {}
  std::string chosen;
  std::vector<OptionState> options;

  // Whether an option has the same value here. Places differ: the options of a loss depend on its
  // name.
  bool has(const OptionState& option) const {
    return std::any_of(options.begin(), options.end(), [&](const OptionState& other) {
      return other.name == option.name && other.json == option.json;
    });
  }

  void visit_value(const char* name, const OptionValue& value, const OptionInfo&) override {
    const std::string shown = show_option(value);
    if (prefix_ + name == choice_) chosen = shown;
    add(name, option_value_to_json(value, -1), shown.empty() || shown == "[]");
  }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    members(*this);
    prefix_ = outer;
  }
  void visit_list(const char* name, const std::string&, const List& list) override {
    std::string json;
    for (size_t i = 0; i < list.size; ++i) {
      json += option_value_to_json(Members([&](OptionVisitor& v) { list.element(v, i); }), -1);
    }
    add(name, std::move(json), list.size == 0);
  }

 private:
  void add(const char* name, std::string json, bool is_empty) {
    OptionState option{prefix_ + name, std::move(json), is_empty, {}};
    for (const Owners& scope : owners()) {
      if (scope.choice == choice_) option.owners = scope.values;
    }
    options.push_back(std::move(option));
  }

  std::string choice_, prefix_;
};

}  // namespace

std::string find_foreign_options(const std::string& kind, const std::string& choice,
                                 const OptionVisitor::Members& members,
                                 const OptionVisitor::Members& untouched) {
  Collector given(choice), defaults(choice);
  members(given);
  untouched(defaults);
  std::vector<std::string> strange, belong;
  for (const OptionState& option : given.options) {
    const auto& owners = option.owners;
    if (owners.empty() || std::count(owners.begin(), owners.end(), given.chosen) > 0) continue;
    if (option.is_empty || defaults.has(option)) continue;
    strange.push_back(option.name);
    belong.push_back(fmt::format("{}: {}", option.name, fmt::join(owners, ", ")));
  }
  if (strange.empty()) return "";
  return fmt::format(
      "the {0} {1} does not take: {2}; remove it, or choose the {0} it belongs to ({3})", kind,
      given.chosen, fmt::join(strange, ", "), fmt::join(belong, "; "));
}

std::string IdleOptions::to_line() const {
  return fmt::format("`{}` {} nothing {}", fmt::join(names, "`, `"),
                     names.size() == 1 ? "does" : "do", reason);
}

std::vector<IdleOptions> find_idle_options(const OptionVisitor::Members& members,
                                           const OptionVisitor::Members& untouched,
                                           const std::vector<IdleRule>& rules) {
  Collector given, defaults;
  members(given);
  untouched(defaults);
  std::vector<IdleOptions> found;
  for (const IdleRule& rule : rules) {
    if (!rule.applies) continue;
    IdleOptions idle{{}, rule.reason};
    for (const std::string& name : rule.options) {
      for (const OptionState& option : given.options) {
        if (option.name != name && !starts_with(option.name, name + ".")) continue;
        if (!defaults.has(option)) idle.names.push_back(option.name);
      }
    }
    if (!idle.names.empty()) found.push_back(std::move(idle));
  }
  return found;
}

void refuse_idle_options(const std::string& place, const std::vector<IdleOptions>& found) {
  if (found.empty()) return;
  throw_error(ErrorKind::kRecipe, "{}{}; remove {}", place, found[0].to_line(),
              found[0].names.size() == 1 ? "it" : "them");
}

}  // namespace simile
