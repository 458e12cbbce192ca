// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/base64.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "simile/core/error.h"

namespace simile::detail {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kInvalid = 0xFF;

std::array<uint8_t, 256> make_values() {
  std::array<uint8_t, 256> values;
  values.fill(kInvalid);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return values;
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kAlphabet[group >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

std::string decode_base64(std::string_view text, const std::string& where) {
  static const std::array<uint8_t, 256> values = make_values();
  SIMILE_CHECK(
      text.size() % 4 == 0, ErrorKind::kInput,
      fmt::format("{}: {} characters are no base64; expected a multiple of 4", where, text.size()));
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  int bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t value = values[static_cast<uint8_t>(text[i])];
    SIMILE_CHECK(value != kInvalid, ErrorKind::kInput,
                 fmt::format("{}: character {} is not base64", where, i));
    group = group << 6 | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xFF);
    }
  }
  return bytes;
}

}  // namespace simile::detail
