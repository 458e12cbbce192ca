// SPDX-License-Identifier: Apache-2.0
// Whether a recipe is that of the run which it is to go on with; before data is read.
#pragma once

#include <optional>
#include <string>

#include "simile/core/config.h"
#include "simile/core/error.h"
#include "simile/core/event.h"
#include "simile/core/options.h"

namespace simile {

// The recipe in the run.json of `folder`; none where it cannot be read. Warns where the folder has
// no run and others begin with its name, as runs of variants do.
std::optional<ConfigNode> read_resumed_recipe(const std::string& folder, EventSink& events);

// Errors (ErrorKind::kUsage): the two recipes (JSON) differ, with the keys and both values.
void check_same_recipe(const std::string& folder, const std::string& begun,
                       const std::string& given);

// Both for the options that a recipe is read into, so that what stands at its default is the same
// in both. A run.json that these options do not take is left to whoever reads the saved state.
template <typename Options>
void check_resumed_recipe(const std::string& folder, Options options, EventSink& events) {
  const std::optional<ConfigNode> recipe = read_resumed_recipe(folder, events);
  if (!recipe) return;
  Options begun;
  try {
    read_options(*recipe, begun);
  } catch (const Error&) {
    return;
  }
  check_same_recipe(folder, options_to_json(begun), options_to_json(options));
}

}  // namespace simile
