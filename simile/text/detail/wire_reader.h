// SPDX-License-Identifier: Apache-2.0
// Reading the protocol-buffer wire format (https://protobuf.dev/programming-guides/encoding), field
// by field, without a schema. Nothing is copied; every length is checked against what is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace simile::detail {

// One field of a message: its number and its value, which the reader of the message interprets.
class WireField {
 public:
  uint32_t number() const { return number_; }
  // Errors (kInput): the field was written as something else.
  int64_t integer() const;  // a varint, as two's complement
  bool flag() const;        // a varint, true unless 0
  float real() const;       // four bytes
  std::string_view bytes() const;

 private:
  friend class WireReader;
  enum class Kind : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  void expect(Kind kind, const char* expected) const;

  const std::string* where_ = nullptr;
  uint32_t number_ = 0;
  Kind kind_ = Kind::kVarint;
  uint64_t value_ = 0;
  std::string_view bytes_;
};

class WireReader {
 public:
  // `where` names the message in errors; both must outlive the reader and its fields.
  WireReader(std::string_view message, const std::string& where)
      : rest_(message), size_(message.size()), where_(where) {}
  // The next field, or false at the end. Errors (kInput): bytes that are no field, or cut short.
  bool next(WireField& field);

 private:
  [[noreturn]] void fail(const char* problem) const;
  uint64_t read_varint();
  std::string_view take(uint64_t size);

  std::string_view rest_;
  size_t size_;
  const std::string& where_;
};

}  // namespace simile::detail
