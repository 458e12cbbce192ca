// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/component_table.h"

#include <algorithm>

namespace simile::detail {

void check_options(const Json& json, std::initializer_list<const char*> known,
                   const std::string& where) {
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    const auto is_key = [&](const char* name) { return key == name; };
    if (key == "type" || std::any_of(known.begin(), known.end(), is_key)) continue;
    std::string names;
    for (const char* name : known)
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
    throw Error(ErrorKind::kInput,
                fmt::format("{}: option \"{}\" of {} is not supported; known are {}", where, key,
                            describe_json(json.at("type")), names.empty() ? "none" : names));
  }
}

}  // namespace simile::detail
