// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/wire_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "simile/core/error.h"

namespace simile::detail {
namespace {

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

void WireField::expect(Kind kind, const char* expected) const {
  SIMILE_CHECK(kind_ == kind, ErrorKind::kInput,
               fmt::format("{}: field {} must be {}, but it has wire type {}", *where_, number_,
                           expected, static_cast<int>(kind_)));
}

int64_t WireField::integer() const {
  expect(Kind::kVarint, "a whole number");
  return static_cast<int64_t>(value_);
}

bool WireField::flag() const {
  expect(Kind::kVarint, "true or false");
  return value_ != 0;
}

float WireField::real() const {
  expect(Kind::kFixed32, "a number of four bytes");
  const auto bits = static_cast<uint32_t>(value_);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::string_view WireField::bytes() const {
  expect(Kind::kBytes, "a text or message");
  return bytes_;
}

void WireReader::fail(const char* problem) const {
  throw Error(ErrorKind::kInput,
              fmt::format("{}: byte {} of the message: {}; the file is damaged or of another kind",
                          where_, size_ - rest_.size(), problem));
}

uint64_t WireReader::read_varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) fail("the file ends inside a number");
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number is longer than ten bytes");
}

std::string_view WireReader::take(uint64_t size) {
  if (size > rest_.size()) fail("a field is longer than what is left");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

bool WireReader::next(WireField& field) {
  if (rest_.empty()) return false;
  const uint64_t key = read_varint();
  const uint64_t number = key >> 3;
  if (number == 0 || number > std::numeric_limits<int32_t>::max()) fail("not a field number");
  field.where_ = &where_;
  field.number_ = static_cast<uint32_t>(number);
  field.kind_ = static_cast<WireField::Kind>(key & 7);
  field.value_ = 0;
  field.bytes_ = {};
  switch (field.kind_) {
    case WireField::Kind::kVarint:
      field.value_ = read_varint();
      return true;
    case WireField::Kind::kFixed64:
      field.value_ = little_endian(take(8));
      return true;
    case WireField::Kind::kBytes:
      field.bytes_ = take(read_varint());
      return true;
    case WireField::Kind::kFixed32:
      field.value_ = little_endian(take(4));
      return true;
  }
  fail("not a wire type");
}

}  // namespace simile::detail
