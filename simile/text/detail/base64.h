// SPDX-License-Identifier: Apache-2.0
// Bytes as text of 64 characters (RFC 4648, with padding).
#pragma once

#include <string>
#include <string_view>

namespace simile::detail {

std::string encode_base64(std::string_view bytes);
// Errors (kInput, naming `where`): a character outside the alphabet, a wrong length or padding.
std::string decode_base64(std::string_view text, const std::string& where);

}  // namespace simile::detail
