// SPDX-License-Identifier: Apache-2.0
#include "simile/core/owned_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace simile {
namespace {

struct OwnedValue {
  std::string name, value;
  std::vector<std::string> owners;  // empty: all choices take it
};

// The value of the choice, and those of all options in the order of visit(), members of groups by
// their full names.
class Collector : public OptionVisitor {
 public:
  explicit Collector(std::string choice) : choice_(std::move(choice)) {}
  std::string chosen;
  std::vector<OwnedValue> values;

  void visit_value(const char* name, const OptionValue& value, const OptionInfo&) override {
    std::string shown = show_option(value);
    if (shown == "[]") shown.clear();
    if (prefix_ + name == choice_) chosen = shown;
    add(name, std::move(shown));
  }
  void visit_group(const char* name, const std::string&, const Members& members) override {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    members(*this);
    prefix_ = outer;
  }
  void visit_list(const char* name, const std::string&, const List& list) override {
    add(name, list.size == 0 ? "" : fmt::format("{} of them", list.size));
  }

 private:
  void add(const char* name, std::string value) {
    OwnedValue owned{prefix_ + name, std::move(value), {}};
    for (const Owners& scope : owners()) {
      if (scope.choice == choice_) owned.owners = scope.values;
    }
    values.push_back(std::move(owned));
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
  for (size_t i = 0; i < given.values.size(); ++i) {
    const OwnedValue& option = given.values[i];
    const auto& owners = option.owners;
    if (owners.empty() || std::count(owners.begin(), owners.end(), given.chosen) > 0) continue;
    if (option.value.empty() || option.value == defaults.values[i].value) continue;
    strange.push_back(option.name);
    belong.push_back(fmt::format("{}: {}", option.name, fmt::join(owners, ", ")));
  }
  if (strange.empty()) return "";
  return fmt::format(
      "the {0} {1} does not take: {2}; remove it, or choose the {0} it belongs to ({3})", kind,
      given.chosen, fmt::join(strange, ", "), fmt::join(belong, "; "));
}

}  // namespace simile
