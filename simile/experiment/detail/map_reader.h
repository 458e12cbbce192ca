// SPDX-License-Identifier: Apache-2.0
// A map of a file of settings, read member by member. Errors (ErrorKind::kRecipe) name file, line
// and key: a member of the wrong kind, and by finish() one that nobody asked for, with the nearest
// name that was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simile/core/config.h"

namespace simile {

class MapReader {
 public:
  // `what` is said in messages: "a row".
  MapReader(const ConfigNode& node, std::string what);

  const ConfigNode* find(const std::string& key);  // null where it is missing or null
  const ConfigNode& at(const std::string& key);    // must be there
  std::string text(const std::string& key);        // must be there
  std::string text_or(const std::string& key, const std::string& fallback);
  double number_or(const std::string& key, double fallback);
  std::vector<std::string> texts(const std::string& key);       // one or a list; may be missing
  const ConfigNode* map(const std::string& key);                // null where missing
  const std::vector<ConfigNode>& list(const std::string& key);  // must be there, not empty
  void finish() const;
  std::string where() const { return node_.where(); }

  [[noreturn]] void fail(const std::string& message) const;

 private:
  const ConfigNode& node_;
  std::string what_;
  std::vector<std::string> asked_;
};

// The node as a number, or as a text; `name` is said in messages.
double number_of(const ConfigNode& node, const std::string& name);
std::string text_of(const ConfigNode& node, const std::string& name);

}  // namespace simile
