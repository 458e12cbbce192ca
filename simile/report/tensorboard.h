// SPDX-License-Identifier: Apache-2.0
// Scalars for TensorBoard, written natively.
//
// A file is a sequence of records: length (u64, little endian), masked CRC-32C of the length,
// payload, masked CRC-32C of the payload. A payload is an `Event` in protobuf's wire format with
// the fields wall_time (1, double), step (2, varint), file_version (3, text) and summary (5), whose
// values (1) have a tag (1, text) and a simple_value (2, float).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace simile {

class TensorboardWriter {
 public:
  // Makes events.out.tfevents.<seconds>.<host>.<process> in `folder`. Errors: ErrorKind::kIo.
  explicit TensorboardWriter(const std::string& folder);
  TensorboardWriter(const TensorboardWriter&) = delete;
  TensorboardWriter& operator=(const TensorboardWriter&) = delete;
  ~TensorboardWriter();

  // One number at a step; it is on its way to the disk when this returns, so a running TensorBoard
  // sees it.
  void write(const std::string& tag, int64_t step, double value);

 private:
  void write_record(const std::string& payload);

  std::FILE* file_;
  std::string path_;
};

// CRC-32C (Castagnoli) of `bytes`, and the form the records store: rotated right by 15, plus a
// constant.
uint32_t crc32c(std::string_view bytes);
uint32_t masked_crc32c(std::string_view bytes);

// A record around a payload, and the payload of a file's first record.
std::string tensorboard_record(const std::string& payload);
std::string tensorboard_version_event(double wall_time);

}  // namespace simile
