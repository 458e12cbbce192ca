// SPDX-License-Identifier: Apache-2.0
// `simile tune`: the search that a recipe asks for, in simile/experiment/tuning.h, for those who
// want its page and not its parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/options.h"

namespace simile {

struct TuneOptions {
  int64_t trials = 0;
  int64_t runs = -1;
  int64_t limit = 0;
  std::string out;

  void visit(OptionVisitor& v);
};

struct TunePage {
  std::string text, markdown, json;
};

// Errors: those of search_settings().
TunePage tune(const std::string& recipe, const std::vector<std::string>& overrides,
              const TuneOptions& options, EventSink& events);

// Throws what tune() would before the first trial, but for its folder and data.
void check_tune_recipe(const std::string& recipe, const std::vector<std::string>& overrides);

// The keys of `tune:` as Markdown.
std::string tune_reference();

}  // namespace simile
