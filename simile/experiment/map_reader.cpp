// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/map_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "simile/core/error.h"

namespace simile {

using Kind = ConfigNode::Kind;

double number_of(const ConfigNode& node, const std::string& name) {
  char* end = nullptr;
  const double number = std::strtod(node.scalar.c_str(), &end);
  const bool good = node.kind == Kind::kScalar && !node.scalar.empty() && *end == '\0';
  SIMILE_CHECK(good && std::isfinite(number), ErrorKind::kRecipe,
               fmt::format("{}: '{}' should be a number, found '{}'", node.where(), name,
                           node.kind == Kind::kScalar ? node.scalar : "a list or map"));
  return number;
}

std::string text_of(const ConfigNode& node, const std::string& name) {
  SIMILE_CHECK(node.kind == Kind::kScalar, ErrorKind::kRecipe,
               fmt::format("{}: '{}' should be a text, found a list or map", node.where(), name));
  return node.scalar;
}

MapReader::MapReader(const ConfigNode& node, std::string what)
    : node_(node), what_(std::move(what)) {
  SIMILE_CHECK(node.kind == Kind::kMap, ErrorKind::kRecipe,
               fmt::format("{}: {} should be a map of keys and values", node.where(), what_));
}

void MapReader::fail(const std::string& message) const {
  throw Error(ErrorKind::kRecipe, fmt::format("{}: {}", node_.where(), message));
}

const ConfigNode* MapReader::find(const std::string& key) {
  asked_.push_back(key);
  const ConfigNode* found = node_.find(key);
  return found == nullptr || found->kind == Kind::kNull ? nullptr : found;
}

const ConfigNode& MapReader::at(const std::string& key) {
  const ConfigNode* found = find(key);
  if (found == nullptr) fail(fmt::format("{} needs '{}'", what_, key));
  return *found;
}

std::string MapReader::text(const std::string& key) {
  const std::string value = text_of(at(key), key);
  if (value.empty()) fail(fmt::format("{} needs '{}', which is empty", what_, key));
  return value;
}

std::string MapReader::text_or(const std::string& key, const std::string& fallback) {
  const ConfigNode* found = find(key);
  return found == nullptr ? fallback : text_of(*found, key);
}

double MapReader::number_or(const std::string& key, double fallback) {
  const ConfigNode* found = find(key);
  return found == nullptr ? fallback : number_of(*found, key);
}

std::vector<std::string> MapReader::texts(const std::string& key) {
  const ConfigNode* found = find(key);
  if (found == nullptr) return {};
  if (found->kind != Kind::kList) return {text_of(*found, key)};
  std::vector<std::string> all;
  for (const ConfigNode& item : found->items) all.push_back(text_of(item, key));
  return all;
}

const ConfigNode* MapReader::map(const std::string& key) {
  const ConfigNode* found = find(key);
  SIMILE_CHECK(found == nullptr || found->kind == Kind::kMap, ErrorKind::kRecipe,
               fmt::format("{}: '{}' should be a map of keys and values", found->where(), key));
  return found;
}

const std::vector<ConfigNode>& MapReader::list(const std::string& key) {
  const ConfigNode& found = at(key);
  SIMILE_CHECK(found.kind == Kind::kList && !found.items.empty(), ErrorKind::kRecipe,
               fmt::format("{}: '{}' should be a list of one item at least", found.where(), key));
  return found.items;
}

void MapReader::finish() const {
  for (const auto& [key, value] : node_.members) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    const std::string nearest = nearest_name(key, asked_);
    throw Error(ErrorKind::kRecipe,
                fmt::format("{}: unknown key '{}' of {}{}; it takes {}",
                            value.line > 0 ? value.where() : node_.where(), key, what_,
                            nearest.empty() ? "" : "; did you mean '" + nearest + "'?",
                            fmt::join(asked_, ", ")));
  }
}

}  // namespace simile
