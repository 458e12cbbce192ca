// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer.json made into objects. Each kind of part has one table from the name in
// "type" to the function that reads it, in the source of its interface (normalizer.cpp,
// pre_tokenizer.cpp, token_model.cpp, post_processor.cpp, decoder.cpp); a new component is a row
// there.
//
// Errors (kInput, naming `source` and the part): an unknown type, with the types known; members
// that are missing, unknown or of the wrong type; special tokens that do not exist.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/added_tokens.h"
#include "simile/text/decoder.h"
#include "simile/text/normalizer.h"
#include "simile/text/post_processor.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/text_pattern.h"
#include "simile/text/token_model.h"

namespace simile::detail {

// The long lists of a tokenizer.json's model, taken from the JSON while it is read, so that a
// quarter of a million tokens are never a tree of JSON values.
struct ModelTables {
  std::vector<std::pair<std::string, int64_t>> tokens;  // "vocab": tokens with their ids
  std::vector<double> scores;  // of the tokens when "vocab" is a list, whose ids are its places
  std::vector<std::pair<std::string, std::string>> merges;
};

// What parse_json() takes out of a tokenizer.json into `tables`, which must stay in place. Errors
// (kInput, naming `source`, the list and the entry): entries that are no tokens, ids, scores or
// merges.
std::vector<JsonStream> model_streams(const std::string& source, ModelTables& tables);

// A JSON null gives a null pointer (no such step).
std::unique_ptr<const Normalizer> make_normalizer(const Json& json, const std::string& source);
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const Json& json, const std::string& source);
// `tables` holds what model_streams() took out of the JSON, and is used up. The model's ids must be
// below its size plus `added`, the number of added tokens.
std::unique_ptr<const TokenModel> make_model(const Json& json, ModelTables& tables, int64_t added,
                                             const std::string& source);
// Ids in the templates must be below `vocabulary_size`. A JSON null gives bare templates.
PostProcessor make_post_processor(const Json& json, int64_t vocabulary_size,
                                  const std::string& source);
// A JSON null gives a null pointer: tokens with spaces between. What is not known, or not as
// expected, is told when it decodes.
std::unique_ptr<const Decoder> make_decoder(const Json& json, const std::string& source);
// The names in each table, for tokenizer_component_names().
std::vector<std::string> normalizer_names();
std::vector<std::string> pre_tokenizer_names();
std::vector<std::string> model_names();
std::vector<std::string> post_processor_names();
std::vector<std::string> decoder_names();

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& source);

// For the readers of single components.

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

// A component without options.
template <typename Component, typename Plain>
std::unique_ptr<const Component> read_plain(const Json& json, const std::string& where) {
  check_options(json, {}, where);
  return std::make_unique<Plain>();
}

}  // namespace simile::detail
