// SPDX-License-Identifier: Apache-2.0
// Finds options that would silently do nothing: those that only some choices have, as
// OptionVisitor::only_for() declares them (`shingle` belongs to the order `words`, `label` to the
// format `classes`), and those that other options make idle (`teacher_precision` without teachers).
#pragma once

#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

// A message about options that are set (neither default nor empty) although the value of the option
// `choice` does not use them; it names the values that do. Empty if there are none. `kind` names
// the choice in messages ("format"). `untouched` visits the options with their defaults.
std::string find_foreign_options(const std::string& kind, const std::string& choice,
                                 const OptionVisitor::Members& members,
                                 const OptionVisitor::Members& untouched);

template <typename T>
std::string find_foreign_options(const std::string& kind, const std::string& choice, T options) {
  T untouched;
  return find_foreign_options(
      kind, choice, [&](OptionVisitor& v) { options.visit(v); },
      [&](OptionVisitor& v) { untouched.visit(v); });
}

struct IdleRule {
  bool applies = false;              // the options below do nothing here
  std::vector<std::string> options;  // dotted names; that of a group stands for all in it
  std::string reason;                // what follows "does nothing": "without `teachers`"
};

// The options of a rule that applies whose values differ from their defaults.
struct IdleOptions {
  std::vector<std::string> names;
  std::string reason;

  // "`siar.norm`, `siar.radius` do nothing without ..."
  std::string to_line() const;
};

// One entry for each rule that finds any, in the order of `rules`. `untouched` visits the same
// options with their defaults. An option that was set to its default value is not found; that does
// no harm. Unknown names are ignored.
std::vector<IdleOptions> find_idle_options(const OptionVisitor::Members& members,
                                           const OptionVisitor::Members& untouched,
                                           const std::vector<IdleRule>& rules);

template <typename T>
std::vector<IdleOptions> find_idle_options(T options, const std::vector<IdleRule>& rules) {
  T untouched;
  return find_idle_options([&](OptionVisitor& v) { options.visit(v); },
                           [&](OptionVisitor& v) { untouched.visit(v); }, rules);
}

// Errors: ErrorKind::kRecipe for the first that is found, after `place`: "train.tsv: ".
void refuse_idle_options(const std::string& place, const std::vector<IdleOptions>& found);

}  // namespace simile
