// SPDX-License-Identifier: Apache-2.0
// The parts of a tokenizer.json made into objects. Each kind of part has one table in the source of
// its interface (normalizer.cpp, pre_tokenizer.cpp, token_model.cpp, post_processor.cpp; for
// decoders components.cpp); a new component is a row there: "type", options, reader.
//
// Errors (kInput, naming `source` and the part): an unknown type, with the types known; members
// that are missing, unknown or of the wrong type; special tokens that do not exist.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/detail/json.h"
#include "simile/text/normalizer.h"
#include "simile/text/post_processor.h"
#include "simile/text/pre_tokenizer.h"
#include "simile/text/text_pattern.h"
#include "simile/text/token_model.h"
#include "simile/text/vocabulary.h"

namespace simile {

// Tokens back to text, one step: the tokens become others, which are the text once they are joined.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Errors (kInput): a decoder that is not known, or not as expected; a text of more than 1 GiB.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};

}  // namespace simile

namespace simile::detail {

// The long lists of a tokenizer.json's model, taken from the JSON while it is read, so that a
// quarter of a million tokens are never a tree of JSON values.
struct ModelTables {
  std::vector<std::pair<std::string, int64_t>> tokens;  // "vocab": tokens with their ids
  std::vector<double> scores;  // of the tokens when "vocab" is a list, whose ids are its places
  std::vector<std::pair<std::string, std::string>> merges;
};

// Lets parse_json() move members of a tokenizer.json into `tables`, which must not move. Errors
// (kInput, naming source, list and entry): not tokens, ids, scores or merges.
std::vector<JsonStream> model_streams(const std::string& source, ModelTables& tables);

// A JSON null gives a null pointer (no such step).
std::unique_ptr<const Normalizer> make_normalizer(const Json& json, const std::string& source);
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const Json& json, const std::string& source);
// The "type" of a model; files written before 2021 leave it out, and their other members tell.
std::string model_type(const JsonObject& json);
// `tables` holds the members that model_streams() took out of the JSON; they are moved from.
std::unique_ptr<const TokenModel> make_model(const Json& json, ModelTables& tables,
                                             const std::string& source);
// Ids in the templates must be below `vocabulary_size`. A JSON null gives bare templates.
PostProcessor make_post_processor(const Json& json, int64_t vocabulary_size,
                                  const std::string& source);
// A JSON null gives a null pointer: tokens with spaces between. Errors come when it decodes.
std::unique_ptr<const Decoder> make_decoder(const Json& json, const std::string& source);
// The names in the tables of models and post-processors, for tokenizer_component_names().
std::vector<std::string> model_names();
std::vector<std::string> post_processor_names();

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& source);

// For the readers of single components.

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max() - 1;

template <typename Made, typename... More>
struct ComponentRow {
  const char* name;
  std::vector<const char*> options;  // others are refused, so that none is ignored
  Made (*make)(const JsonObject& json, More... more);
};
template <typename Component>
using ComponentTable = std::vector<ComponentRow<std::unique_ptr<const Component>>>;

// The tables of the components that stand behind an interface.
template <typename Component>
const ComponentTable<Component>& component_table();
template <>
const ComponentTable<Normalizer>& component_table();
template <>
const ComponentTable<PreTokenizer>& component_table();
template <>
const ComponentTable<Decoder>& component_table();

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

// Errors (kInput): an option of the component that is none of `known`.
void check_options(const JsonObject& json, const std::vector<const char*>& known);

// The row of `table` of the component's "type". Errors (kInput): none; check_options()'s.
template <typename Row>
const Row& find_row(const std::vector<Row>& table, const JsonObject& json) {
  const std::string type = json.text("type");
  for (const Row& row : table) {
    if (type != row.name) continue;
    check_options(json, row.options);
    return row;
  }
  throw_error(ErrorKind::kInput, "{}: type \"{}\" is not supported; known are \"{}\"",
              json.source(), type, fmt::join(names_of(table), "\", \""));
}

template <typename Component>
std::unique_ptr<const Component> make_component(const Json& json, const std::string& where) {
  const JsonObject object(json, where);
  return find_row(component_table<Component>(), object).make(object);
}

// Makes a component whose options are read by its constructor, or that has none.
template <typename Component, typename Part>
std::unique_ptr<const Component> make_part(const JsonObject& json) {
  if constexpr (std::is_constructible_v<Part, const JsonObject&>) {
    return std::make_unique<Part>(json);
  } else {
    return std::make_unique<Part>();
  }
}

// The "pattern": {"String": "..."} or {"Regex": "..."}. Errors (kInput): anything else.
TextPattern read_pattern(const JsonObject& json);

// The steps of a "Sequence", which the list `key` holds.
template <typename Component>
std::vector<std::unique_ptr<const Component>> read_steps(const JsonObject& json, const char* key) {
  std::vector<std::unique_ptr<const Component>> steps;
  for (const Json& step : json.list(key)) {
    const std::string where = fmt::format("{}: {}[{}]", json.source(), key, steps.size());
    steps.push_back(make_component<Component>(step, where));
  }
  return steps;
}

// Stands in split_pre_tokenizer.cpp, a part of the table in pre_tokenizer.cpp.
ComponentTable<PreTokenizer> split_pre_tokenizers();

}  // namespace simile::detail
