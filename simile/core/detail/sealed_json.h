// SPDX-License-Identifier: Apache-2.0
// JSON documents that know when they are damaged: the member "checksum" is the hash_bytes() of all
// others, as dump_json() writes them. For sources only.
#pragma once

#include <string>

#include "simile/core/detail/json.h"

namespace simile::detail {

inline constexpr const char* kSeal = "checksum";

// Of the object without its seal.
std::string seal_of(Json object);

// Errors (kInput): `object`, read from `source`, has another seal, or none. `remedy`: what to do.
void check_seal(const Json& object, const std::string& source, const std::string& remedy);

}  // namespace simile::detail
