// SPDX-License-Identifier: Apache-2.0
// --mode, --hybrid-weight and --hybrid-rule, where an index has settings of its own.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "simile/index/search_settings.h"

namespace simile::cli {

class SearchFlags {
 public:
  // Must outlive parsing.
  void add(CLI::App& command);

  // Those of the index with what the command line says in their place.
  SearchSettings over(SearchSettings kept) const;
  bool any() const;

 private:
  bool is_given(const char* flag) const { return command_->count(flag) > 0; }

  CLI::App* command_ = nullptr;
  SearchSettings given_;
};

}  // namespace simile::cli
