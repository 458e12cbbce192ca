// SPDX-License-Identifier: Apache-2.0
// Parts that several kinds of component have in common.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/text_pattern.h"

namespace simile::detail {

// {"String": "..."} or {"Regex": "..."}. Errors (kInput): anything else.
TextPattern read_pattern(const Json& json, const std::string& where);

// The steps of a "Sequence", which the list `key` holds; make(step, where) reads one of them.
template <typename Component, typename Make>
std::vector<std::unique_ptr<const Component>> read_steps(const Json& json, const char* key,
                                                         const std::string& where,
                                                         const Make& make) {
  const Json& list = JsonObject(json, where).at(key);
  SIMILE_CHECK(
      list.is_array(), ErrorKind::kInput,
      fmt::format("{}: \"{}\" must be a list, but it is {}", where, key, describe_json(list)));
  std::vector<std::unique_ptr<const Component>> steps;
  for (const Json& step : list) {
    steps.push_back(make(step, fmt::format("{}: {}[{}]", where, key, steps.size())));
  }
  return steps;
}

}  // namespace simile::detail
