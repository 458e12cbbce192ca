// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/detail/json_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "simile/index/document_store.h"
#include "simile/serve/request_error.h"

namespace simile::detail {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& expected, const Json& found) {
  throw RequestError(
      Refusal::kInvalid,
      fmt::format("\"{}\" must be {}, but it is {}", name, expected, describe_json(found)), name);
}

bool is_id(const Json& value) {
  return value.is_number_unsigned() &&
         value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int32_t>::max());
}

bool is_id_list(const Json& value) {
  return value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_id);
}

std::vector<int32_t> ids_of(const std::string& name, const Json& value) {
  if (!value.is_array()) refuse(name, "a list of token ids", value);
  for (size_t i = 0; i < value.size(); ++i) {
    if (!is_id(value[i])) refuse(fmt::format("{}[{}]", name, i), "a token id", value[i]);
  }
  return value.get<std::vector<int32_t>>();
}

Json parse_body(std::string_view body) {
  Json json;
  try {
    json = parse_json(body, "the body");
  } catch (const Error& error) {
    throw RequestError(Refusal::kMalformed, error.what());
  }
  if (!json.is_object()) {
    throw RequestError(
        Refusal::kMalformed,
        fmt::format("the body must be a JSON object, but it is {}", describe_json(json)));
  }
  return json;
}

}  // namespace

JsonRequest::JsonRequest(std::string_view body, const ServeLimits& limits)
    : json_(parse_body(body)), limits_(limits) {}

JsonRequest::JsonRequest(Json json, const ServeLimits& limits, const std::string& prefix)
    : json_(std::move(json)), limits_(limits), prefix_(prefix) {}

const Json* JsonRequest::find(const char* key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

const Json& JsonRequest::at(const char* key) const {
  if (const Json* value = find(key)) return *value;
  std::vector<std::string> given;
  for (const auto& member : json_.items()) given.push_back(member.key());
  const std::string meant = nearest_name(key, given);
  throw RequestError(
      Refusal::kInvalid,
      fmt::format("\"{}\" is missing{}", name(key),
                  meant.empty() || meant == key
                      ? ""
                      : fmt::format("; is \"{}\" meant to be it?", meant.substr(0, 40))),
      name(key));
}

JsonRequest JsonRequest::part(const char* key) const {
  const Json& value = at(key);
  if (!value.is_object()) refuse(name(key), "an object", value);
  return {value, limits_, name(key) + "."};
}

JsonRequest JsonRequest::part_or_empty(const char* key) const {
  if (find(key) != nullptr) return part(key);
  return {Json::object(), limits_, name(key) + "."};
}

std::vector<JsonRequest> JsonRequest::parts(const char* key) const {
  const Json& value = at(key);
  if (!value.is_array()) refuse(name(key), "a list of objects", value);
  check_count(key, value.size(), limits_.bulk_texts);
  std::vector<JsonRequest> parts;
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string element = fmt::format("{}[{}]", name(key), i);
    if (!value[i].is_object()) refuse(element, "an object", value[i]);
    parts.push_back(JsonRequest(value[i], limits_, element + "."));
  }
  return parts;
}

std::string JsonRequest::checked_text(const std::string& name, const Json& value) const {
  if (!value.is_string()) refuse(name, "a text", value);
  const auto& text = value.get_ref<const std::string&>();
  if (static_cast<int64_t>(text.size()) > limits_.text_bytes) {
    throw RequestError(Refusal::kInvalid,
                       fmt::format("\"{}\" has {} bytes; a text may have {}", name, text.size(),
                                   limits_.text_bytes),
                       name);
  }
  return text;
}

std::string JsonRequest::text(const char* key) const { return checked_text(name(key), at(key)); }

std::string JsonRequest::full_text(const char* key) const {
  std::string found = text(key);
  check_full(key, name(key), found);
  return found;
}

std::string JsonRequest::text_or(const char* key, const std::string& fallback) const {
  return find(key) == nullptr ? fallback : text(key);
}

std::string JsonRequest::metadata(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return "";
  if (!value->is_object()) refuse(name(key), "an object", *value);
  for (const auto& [column, member] : value->items()) {
    if (!member.is_string() && !member.is_number() && !member.is_boolean()) {
      refuse(name(key) + "." + column, "a text, a number, true or false", member);
    }
  }
  std::string written = dump_json(*value, -1);
  if (written.size() > kMaximumMetadataBytes) {
    throw RequestError(Refusal::kInvalid,
                       fmt::format("\"{}\" has {} bytes; a document's metadata may have {}",
                                   name(key), written.size(), kMaximumMetadataBytes),
                       name(key));
  }
  return written;
}

std::optional<bool> JsonRequest::flag(const char* key) const {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(name(key), "true or false", *value);
  return value->get<bool>();
}

int64_t JsonRequest::integer_or(const char* key, int64_t fallback, int64_t minimum,
                                int64_t maximum) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  const bool fits =
      value->is_number_integer() &&
      !(value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(maximum)) &&
      value->get<int64_t>() >= minimum && value->get<int64_t>() <= maximum;
  if (!fits) {
    refuse(name(key), fmt::format("a whole number between {} and {}", minimum, maximum), *value);
  }
  return value->get<int64_t>();
}

std::string JsonRequest::choice(const char* key, const std::vector<std::string>& choices) const {
  const Json* value = find(key);
  if (value == nullptr) return choices[0];
  const bool known = value->is_string() && std::find(choices.begin(), choices.end(),
                                                     value->get<std::string>()) != choices.end();
  if (!known) {
    refuse(name(key), fmt::format("one of {}", fmt::join(choices, ", ")), *value);
  }
  return value->get<std::string>();
}

void JsonRequest::check_full(const char* key, const std::string& name,
                             const std::string& text) const {
  if (!text.empty()) return;
  throw RequestError(Refusal::kEmpty, fmt::format("\"{}\" is an empty text", name),
                     this->name(key));
}

void JsonRequest::check_count(const char* key, size_t count, int64_t most) const {
  if (count == 0) {
    throw RequestError(Refusal::kEmpty, fmt::format("\"{}\" is empty", name(key)), name(key));
  }
  most = std::max(most, limits_.request_texts);
  if (static_cast<int64_t>(count) > most) {
    throw RequestError(
        Refusal::kTooManyInputs,
        fmt::format("\"{}\" has {} texts; a request may have {}", name(key), count, most),
        name(key));
  }
}

std::vector<std::string> JsonRequest::texts(const char* key, int64_t most) const {
  const Json& value = at(key);
  if (value.is_string()) return {checked_text(name(key), value)};
  if (!value.is_array()) refuse(name(key), "a text or a list of texts", value);
  check_count(key, value.size(), most);
  std::vector<std::string> texts;
  for (size_t i = 0; i < value.size(); ++i) {
    texts.push_back(checked_text(fmt::format("{}[{}]", name(key), i), value[i]));
  }
  return texts;
}

std::vector<std::string> JsonRequest::full_texts(const char* key) const {
  std::vector<std::string> found = texts(key);
  const bool is_list = at(key).is_array();
  for (size_t i = 0; i < found.size(); ++i) {
    check_full(key, is_list ? fmt::format("{}[{}]", name(key), i) : name(key), found[i]);
  }
  return found;
}

TextInput JsonRequest::input(const char* key, const std::string& name, const Json& value) const {
  TextInput input;
  if (is_id_list(value)) {
    input.is_ids = true;
    input.ids = value.get<std::vector<int32_t>>();
  } else if (value.is_string()) {
    input.text = checked_text(name, value);
    check_full(key, name, input.text);
  } else {
    refuse(name, "a text or a list of token ids", value);
  }
  return input;
}

std::vector<TextInput> JsonRequest::inputs(const char* key, int64_t most) const {
  const Json& value = at(key);
  if (!value.is_array() || is_id_list(value)) return {input(key, name(key), value)};
  check_count(key, value.size(), most);
  std::vector<TextInput> inputs;
  for (size_t i = 0; i < value.size(); ++i) {
    inputs.push_back(input(key, fmt::format("{}[{}]", name(key), i), value[i]));
  }
  return inputs;
}

std::vector<std::vector<int32_t>> JsonRequest::id_lists(const char* key) const {
  const Json& value = at(key);
  if (!value.is_array()) refuse(name(key), "a list of token ids, or a list of such lists", value);
  if (value.empty() || !value[0].is_array()) {
    if (value.empty()) check_count(key, 0);
    return {ids_of(name(key), value)};
  }
  check_count(key, value.size());
  std::vector<std::vector<int32_t>> lists;
  for (size_t i = 0; i < value.size(); ++i) {
    lists.push_back(ids_of(fmt::format("{}[{}]", name(key), i), value[i]));
  }
  return lists;
}

}  // namespace simile::detail
