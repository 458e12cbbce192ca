// SPDX-License-Identifier: Apache-2.0
// Options that only some choices have, as OptionVisitor::only_for() declares them: `shingle`
// belongs to the order `words`, `label` to the format `classes`.
#pragma once

#include <string>

#include "simile/core/options.h"

namespace simile {

// An option of another choice would do nothing, unseen. What to say of those that have a value
// which is neither their default nor empty though the value of the option `choice` does not take
// them, with the values that do; empty where there are none. `kind` is what messages call the
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

}  // namespace simile
