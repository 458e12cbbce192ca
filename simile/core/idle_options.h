// SPDX-License-Identifier: Apache-2.0
// Options that do nothing beside what others say: `teacher_precision` where there are no teachers.
// Those that depend on one name (an order, a format, a method) are declared by
// OptionVisitor::only_for() instead (simile/core/owned_options.h).
#pragma once

#include <string>
#include <vector>

#include "simile/core/options.h"

namespace simile {

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
