// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/pattern_reader.h"

namespace simile::detail {

TextPattern read_pattern(const Json& json, const std::string& where) {
  const bool known = json.is_object() && json.size() == 1 && json.begin().value().is_string() &&
                     (json.contains("String") || json.contains("Regex"));
  SIMILE_CHECK(
      known, ErrorKind::kInput,
      fmt::format("{}: \"pattern\" must be {{\"String\": text}} or {{\"Regex\": text}}, but "
                  "it is {}",
                  where, describe_json(json)));
  const std::string text = json.begin().value().get<std::string>();
  if (json.contains("String")) return TextPattern::literal(text);
  return TextPattern::regex(text, where);
}

}  // namespace simile::detail
