// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/components.h"

#include <algorithm>

#include "simile/core/detail/check.h"
#include "simile/text/tokenizer.h"

namespace simile::detail {

void check_options(const JsonObject& json, const std::vector<const char*>& known) {
  for (const auto& item : json.json().items()) {
    const std::string& key = item.key();
    if (key == "type" || std::find(known.begin(), known.end(), key) != known.end()) continue;
    detail::throw_error(ErrorKind::kInput, "{}: option \"{}\" of {} is not supported; known are {}",
                        json.source(), key, describe_json(json.at("type")),
                        known.empty() ? "none" : fmt::format("\"{}\"", fmt::join(known, "\", \"")));
  }
}

TextPattern read_pattern(const JsonObject& json) {
  const Json& pattern = json.at("pattern");
  const bool known = pattern.is_object() && pattern.size() == 1 &&
                     pattern.begin().value().is_string() &&
                     (pattern.contains("String") || pattern.contains("Regex"));
  SIMILE_CHECK(known, ErrorKind::kInput,
               "{}: \"pattern\" must be {{\"String\": text}} or {{\"Regex\": text}}, but "
               "it is {}",
               json.source(), describe_json(pattern));
  const std::string text = pattern.begin().value().get<std::string>();
  return pattern.contains("String") ? TextPattern::literal(text)
                                    : TextPattern::regex(text, json.source());
}

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& source) {
  const std::string where = source + ": added_tokens";
  if (json.is_null()) return {};
  SIMILE_CHECK(json.is_array(), ErrorKind::kInput, "{} must be a list, but it is {}", where,
               describe_json(json));
  std::vector<AddedToken> tokens;
  for (const Json& item : json) {
    const JsonObject object(item, where);
    AddedToken token;
    token.content = object.text("content");
    token.id = static_cast<int32_t>(object.integer("id", 0, kMaxId));
    token.special = object.flag_or("special", false);
    token.single_word = object.flag_or("single_word", false);
    token.lstrip = object.flag_or("lstrip", false);
    token.rstrip = object.flag_or("rstrip", false);
    token.normalized = object.flag_or("normalized", !token.special);
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace simile::detail

namespace simile {

std::vector<std::pair<std::string, std::vector<std::string>>> tokenizer_component_names() {
  return {{"normalizer", detail::normalizer_names()},
          {"pre_tokenizer", detail::pre_tokenizer_names()},
          {"model", detail::model_names()},
          {"post_processor", detail::post_processor_names()},
          {"decoder", detail::decoder_names()}};
}

}  // namespace simile
