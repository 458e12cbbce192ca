// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/component_table.h"
#include "simile/text/detail/components.h"

namespace simile::detail {

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& source) {
  const std::string where = source + ": added_tokens";
  if (json.is_null()) return {};
  SIMILE_CHECK(json.is_array(), ErrorKind::kInput,
               fmt::format("{} must be a list, but it is {}", where, describe_json(json)));
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
