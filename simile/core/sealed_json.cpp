// SPDX-License-Identifier: Apache-2.0
#include "simile/core/detail/sealed_json.h"

#include <fmt/format.h>

#include "simile/core/error.h"
#include "simile/core/hash.h"

namespace simile::detail {

std::string seal_of(Json object) {
  object.erase(kSeal);
  return hash_bytes(dump_json(object, -1));
}

void check_seal(const Json& object, const std::string& source, const std::string& remedy) {
  SIMILE_CHECK(JsonObject(object, source).text(kSeal) == seal_of(object), ErrorKind::kInput,
               fmt::format("{} is damaged or was changed by hand: its checksum is another; {}",
                           source, remedy));
}

}  // namespace simile::detail
