// SPDX-License-Identifier: Apache-2.0
#include "simile/index/segment_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "simile/core/error.h"

namespace simile {
namespace {

using testing::HasSubstr;

const std::string kOwner(32, 'a');

class SegmentTest : public testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }

  // Rows i = 0 .. rows - 1, in two pieces: key 10 + 3 i, content 7 i, vector (i, i + 0.5, ...).
  SegmentRow write(int64_t rows, int64_t D) const {
    std::vector<float> vectors;
    std::vector<VectorKey> keys;
    for (int64_t i = 0; i < rows; ++i) {
      keys.push_back({10 + 3 * i, static_cast<uint64_t>(7 * i)});
      for (int64_t d = 0; d < D; ++d) {
        vectors.push_back(static_cast<float>(i) + 0.5f * static_cast<float>(d));
      }
    }
    SegmentWriter writer(path_, kind(D), 5);
    const int64_t half = rows / 2;
    writer.add(vectors.data(), keys.data(), half);
    writer.add(vectors.data() + half * D, keys.data() + half, rows - half);
    return writer.commit();
  }

  static SegmentKind kind(int64_t D) { return {D, VectorMetric::kSquaredDistance, kOwner}; }

  void expect_refused(const SegmentKind& kind, const SegmentRow& row, const std::string& what) {
    try {
      Segment(path_, kind, row).vectors();
      ADD_FAILURE() << "read; expected: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(what), HasSubstr(path_)));
    }
  }

  std::string path_ = testing::TempDir() + "simile_segment_" + std::to_string(getpid()) +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SegmentTest, WhatIsWrittenIsRead) {
  for (const int64_t D : {1, 2, 3, 16}) {
    for (const int64_t rows : {1, 2, 5}) {
      const SegmentRow row = write(rows, D);
      EXPECT_EQ(row.number, 5);
      EXPECT_EQ(row.first_key, 10);
      EXPECT_EQ(row.last_key, 10 + 3 * (rows - 1));
      const Segment segment(path_, kind(D), row);
      ASSERT_EQ(segment.size(), rows);
      for (int64_t i = 0; i < rows; ++i) {
        std::vector<float> vector(static_cast<size_t>(D));
        segment.vectors().read(i, vector.data());
        EXPECT_EQ(vector[0], static_cast<float>(i));
        EXPECT_EQ(segment.vector(i).content, static_cast<uint64_t>(7 * i));
        EXPECT_EQ(segment.find(10 + 3 * i), i);
        EXPECT_EQ(segment.find(11 + 3 * i), -1);
      }
      EXPECT_EQ(segment.find(0), -1);
    }
  }
}

TEST_F(SegmentTest, WithoutCommitNothingIsThere) {
  {
    SegmentWriter writer(path_, kind(2), 1);
    const float vector[] = {1, 2};
    const VectorKey key{1, 1};
    writer.add(vector, &key, 1);
  }
  EXPECT_FALSE(file_exists(path_));
  EXPECT_THROW(SegmentWriter(path_ + "/no/folder", kind(2), 1), Error);
  EXPECT_THROW(SegmentWriter(path_, kind(0), 1), Error);
}

TEST_F(SegmentTest, AnotherSegmentThanExpectedIsRefused) {
  const SegmentRow row = write(3, 2);
  expect_refused(kind(3), row, "it belongs to another index");
  expect_refused({2, VectorMetric::kInnerProduct, kOwner}, row, "it belongs to another index");
  expect_refused({2, VectorMetric::kSquaredDistance, std::string(32, 'b')}, row,
                 "it belongs to another index");
  for (int field = 0; field < 3; ++field) {
    SegmentRow other = row;
    if (field == 0) ++other.number;
    if (field == 1) ++other.rows;
    if (field == 2) other.checksum[0] ^= 1;
    expect_refused(kind(2), other, "not the one that documents.sqlite names");
  }
}

TEST_F(SegmentTest, EveryTruncationAndAnyDamagedByteIsRefused) {
  const SegmentRow row = write(3, 3);
  const std::string whole = read_file(path_);
  ASSERT_EQ(whole.size(), 192 + 3 * 3 * 4 + 4 + 3 * 16u);
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    expect_refused(kind(3), row, "damaged");
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1 << i % 8);
    std::ofstream(path_, std::ios::binary) << damaged;
    expect_refused(kind(3), row, "damaged");
  }
  std::ofstream(path_, std::ios::binary) << whole << '\0';
  expect_refused(kind(3), row, "damaged");
}

TEST_F(SegmentTest, DamagedVectorsAreFoundAsOftenAsTheyAreAskedFor) {
  const SegmentRow row = write(3, 4);
  std::string damaged = read_file(path_);
  damaged[200] = static_cast<char>(damaged[200] ^ 1);
  std::ofstream(path_, std::ios::binary) << damaged;
  const Segment segment(path_, kind(4), row);  // its keys are whole
  EXPECT_EQ(segment.find(13), 1);
  EXPECT_THROW(segment.vectors(), Error);
  EXPECT_THROW(segment.vectors(), Error);
}

}  // namespace
}  // namespace simile
