// SPDX-License-Identifier: Apache-2.0
// What other trainers call the options of a recipe. Used by simile/core/options.cpp.
#pragma once

#include <string>

namespace simile {

struct ForeignKey {
  const char* key;   // the end of the option's dotted name here; empty: nothing is known
  const char* note;  // such as " (1 / temperature)", where the value differs; may be empty
};

// Of an argument of sentence-transformers' trainer or a column of its data sets.
ForeignKey find_foreign_key(const std::string& name);

}  // namespace simile
