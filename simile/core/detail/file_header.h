// SPDX-License-Identifier: Apache-2.0
// Headers at the start of files, written as they lie in memory: numbers, and texts of a
// fixed size without a terminating zero. A header has a `magic` text, a `checksum` of the bytes
// before it, and `zeros` at its end.
#pragma once

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "simile/core/check.h"
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

// Errors (kInput): the file at `path` is not `good`.
inline void check_file(bool good, const std::string& path, std::string_view what) {
  SIMILE_CHECK(good, ErrorKind::kInput,
               "'{}' is damaged or not of this index: {}; build the index again", path, what);
}

// The header of the file with these bytes. Errors (kInput): the file is too short or of another
// type, or its header is damaged.
template <typename Header>
Header read_header(std::string_view bytes, const std::string& path) {
  check_file(bytes.size() >= sizeof(Header), path, fmt::format("it has {} bytes", bytes.size()));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const Header expected;
  check_file(field_text(header.magic) == field_text(expected.magic), path,
             "it is a file of another type");
  check_file(field_text(header.checksum) == header_checksum(header) &&
                 field_text(header.zeros) == field_text(expected.zeros),
             path, "header checksum mismatch");
  return header;
}

}  // namespace simile::detail
