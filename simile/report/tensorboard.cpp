// SPDX-License-Identifier: Apache-2.0
#include "simile/report/tensorboard.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/report/detail/run_format.h"

namespace simile {
namespace {

enum class WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::array<uint32_t, 256> make_crc_table() {
  constexpr uint32_t kReflectedPolynomial = 0x82F63B78u;
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1) != 0 ? kReflectedPolynomial : 0);
    }
    table[i] = value;
  }
  return table;
}

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string field(int number, WireType type, const std::string& content) {
  const std::string key = varint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
  return key + (type == WireType::kBytes ? varint(content.size()) : "") + content;
}

double now_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = make_crc_table();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) {
    crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  }
  return ~crc;
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::string tensorboard_record(const std::string& payload) {
  const std::string length = little_endian(static_cast<uint64_t>(payload.size()));
  return length + little_endian(masked_crc32c(length)) + payload +
         little_endian(masked_crc32c(payload));
}

std::string tensorboard_version_event(double wall_time) {
  return field(1, WireType::kFixed64, little_endian(wall_time)) +
         field(3, WireType::kBytes, "brain.Event:2");
}

TensorboardWriter::TensorboardWriter(const std::string& folder) {
  utsname machine{};
  uname(&machine);
  path_ = join_path(folder,
                    fmt::format("{}{}.{}.{}", run_format::kTensorboard,
                                static_cast<int64_t>(now_seconds()), machine.nodename, getpid()));
  file_ = std::fopen(path_.c_str(), "ab");
  SIMILE_CHECK(file_ != nullptr, ErrorKind::kIo,
               fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
  write_record(tensorboard_version_event(now_seconds()));
}

TensorboardWriter::~TensorboardWriter() { std::fclose(file_); }

void TensorboardWriter::write(const std::string& tag, int64_t step, double value) {
  const std::string scalar = field(1, WireType::kBytes, tag) +
                             field(2, WireType::kFixed32, little_endian(static_cast<float>(value)));
  write_record(field(1, WireType::kFixed64, little_endian(now_seconds())) +
               field(2, WireType::kVarint, varint(static_cast<uint64_t>(step))) +
               field(5, WireType::kBytes, field(1, WireType::kBytes, scalar)));
}

void TensorboardWriter::write_record(const std::string& payload) {
  const std::string record = tensorboard_record(payload);
  const bool written = std::fwrite(record.data(), 1, record.size(), file_) == record.size();
  SIMILE_CHECK(written && std::fflush(file_) == 0, ErrorKind::kIo,
               fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
}

}  // namespace simile
