// SPDX-License-Identifier: Apache-2.0
#include "cli/search_flags.h"

#include "cli/option_flags.h"

namespace simile::cli {
namespace {

constexpr const char* kMode = "--mode";
constexpr const char* kWeight = "--hybrid-weight";
constexpr const char* kRule = "--hybrid-rule";

}  // namespace

void SearchFlags::add(CLI::App& command) {
  command_ = &command;
  OptionFlags flags(command);
  given_.visit(flags);
  // The index has the defaults.
  for (const char* flag : {kMode, kWeight, kRule}) command.get_option(flag)->default_str("");
}

SearchSettings SearchFlags::over(SearchSettings kept) const {
  if (is_given(kMode)) kept.mode = given_.mode;
  if (is_given(kWeight)) kept.fusion.weight = given_.fusion.weight;
  if (is_given(kRule)) kept.fusion.rule = given_.fusion.rule;
  return kept;
}

bool SearchFlags::any() const { return is_given(kMode) || is_given(kWeight) || is_given(kRule); }

}  // namespace simile::cli
