// SPDX-License-Identifier: Apache-2.0
// The long lists of a tokenizer.json's model, taken from the JSON while it is read, so that a
// quarter of a million tokens are never a tree of JSON values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/detail/json.h"

namespace simile::detail {

struct ModelTables {
  std::vector<std::pair<std::string, int64_t>> tokens;  // "vocab": tokens with their ids
  std::vector<double> scores;  // of the tokens when "vocab" is a list, whose ids are its places
  std::vector<std::pair<std::string, std::string>> merges;
};

// What parse_json() takes out of a tokenizer.json into `tables`, which must stay in place. Errors
// (kInput, naming `source`, the list and the entry): entries that are no tokens, ids, scores or
// merges.
std::vector<JsonStream> model_streams(const std::string& source, ModelTables& tables);

}  // namespace simile::detail
