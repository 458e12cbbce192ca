// SPDX-License-Identifier: Apache-2.0
// Options that would do nothing, unseen: those that only some choices have, as
// OptionVisitor::only_for() declares them (`shingle` belongs to the order `words`, `label` to the
// format `classes`), and those that are idle beside what others say (`teacher_precision` where there
// are no teachers).
#pragma once

#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

// What to say of options that have a value which is neither their default nor empty though the value
// of the option `choice` does not take them, with the values that do; empty where there are none. `kind` is what messages call the
// choice, such as "format". `untouched` visits the same options with their defaults.
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

// Of a rule that applies: its options that have a value other than their default.
struct IdleOptions {
  std::vector<std::string> names;
  std::string reason;

  // "`siar.norm`, `siar.radius` do nothing without ..."
  std::string to_line() const;
};

// One for each rule that finds any, in the order of `rules`. `untouched` visits the same options
// with their defaults. Which were written down and left at their default is not known, and does no
// harm. Names that are not there are passed over.
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
