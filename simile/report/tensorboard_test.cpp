// SPDX-License-Identifier: Apache-2.0
#include "simile/report/tensorboard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "simile/core/file.h"

namespace simile {
namespace {

uint32_t word_at(const std::string& bytes, size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

TEST(Tensorboard, ChecksumsAreThoseOfTheFormat) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  const std::string record = tensorboard_record(tensorboard_version_event(0));
  ASSERT_EQ(record.size(), 8u + 4 + 24 + 4);
  EXPECT_EQ(word_at(record, 8), 0x224b7fa3u);
  EXPECT_EQ(word_at(record, 8 + 4 + 24), 0xa328dfeeu);
}

TEST(Tensorboard, AFileIsARunOfIntactRecords) {
  const std::string folder =
      ::testing::TempDir() + "simile_tensorboard_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  {
    TensorboardWriter writer(folder);
    writer.write("train/loss", 300, 0.5);
  }
  const std::string bytes = read_file(std::filesystem::directory_iterator(folder)->path());
  size_t offset = 0, records = 0;
  while (offset < bytes.size()) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + offset, sizeof length);
    ASSERT_LE(offset + 16 + length, bytes.size());
    EXPECT_EQ(word_at(bytes, offset + 8), masked_crc32c(bytes.substr(offset, 8)));
    const std::string payload = bytes.substr(offset + 12, length);
    EXPECT_EQ(word_at(bytes, offset + 12 + length), masked_crc32c(payload));
    if (records == 1) {
      // Field 2, varint 300; then summary{value{tag, simple_value 0.5f}}.
      EXPECT_EQ(payload.substr(9), std::string("\x10\xAC\x02\x2A\x13\x0A\x11\x0A\x0Atrain/loss\x15"
                                               "\x00\x00\x00\x3F",
                                               24));
    }
    offset += 16 + length;
    ++records;
  }
  EXPECT_EQ(records, 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace simile
