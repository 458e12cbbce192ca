// SPDX-License-Identifier: Apache-2.0
// Headers at the start of files, written as they lie in memory: numbers, and texts of a
// fixed size without a terminating zero. A header has a member `checksum`, of what lies before it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "simile/core/hash.h"

namespace simile::detail {

constexpr size_t kChecksumDigits = 32;  // of hash_bytes() and Hash128::digits()

template <typename T>
std::string_view bytes_of(const T* values, size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(T)};
}

template <size_t kSize>
std::string_view field_text(const char (&field)[kSize]) {
  return {field, kSize};
}

// `text` has the size of the field.
template <size_t kSize>
void set_field(char (&field)[kSize], std::string_view text) {
  assert(text.size() == kSize);
  text.copy(field, kSize);
}

template <typename Header>
std::string header_checksum(const Header& header) {
  return hash_bytes(bytes_of(&header, 1).substr(0, offsetof(Header, checksum)));
}

// `bytes` has those of the header at least.
template <typename Header>
Header read_header(std::string_view bytes) {
  assert(bytes.size() >= sizeof(Header));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

}  // namespace simile::detail
