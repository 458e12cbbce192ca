// SPDX-License-Identifier: Apache-2.0
// A table from the name in a component's "type" to the function that reads the component.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"

namespace simile::detail {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max() - 1;

template <typename Maker>
using ComponentTable = std::vector<std::pair<const char*, Maker>>;

template <typename Maker>
std::vector<std::string> names_of(const ComponentTable<Maker>& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.first);
  return names;
}

// The row of `table` that the component's "type" names. Errors (kInput): no such row.
template <typename Maker>
const Maker& find_maker(const ComponentTable<Maker>& table, const Json& json,
                        const std::string& where) {
  const std::string type = JsonObject(json, where).text("type");
  std::string known;
  for (const auto& [name, maker] : table) {
    if (type == name) return maker;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", name);
  }
  throw Error(ErrorKind::kInput,
              fmt::format("{}: type \"{}\" is not supported; known are {}", where, type, known));
}

// Errors (kInput): an option of the component that is none of `known`, so that none is ignored.
void check_options(const Json& json, std::initializer_list<const char*> known,
                   const std::string& where);

}  // namespace simile::detail
