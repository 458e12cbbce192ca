// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/model/embedding_store.h"

namespace simile {
namespace {

using testing::HasSubstr;

class ShardTest : public ::testing::Test {
 protected:
  ShardTest() {
    folder_ = testing::TempDir() + "shards-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    make_folders(folder_);
    for (int i = 0; i < 100; ++i) texts_.push_back("text " + std::to_string(i % 90));
  }
  ~ShardTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }

  // The vector of row i is (i, -i).
  static std::string vector_of(int64_t row) {
    const float numbers[] = {static_cast<float>(row), -static_cast<float>(row)};
    return {reinterpret_cast<const char*>(numbers), sizeof numbers};
  }

  std::string write_shard(const Shard& shard, const std::string& model = "m") const {
    ShardSelection selection(shard);
    std::string numbers;
    for (const std::string& text : texts_) {
      if (selection.take(text)) numbers += vector_of(selection.rows().back());
    }
    selection.add_vectors(numbers);
    const auto rows = static_cast<int64_t>(selection.rows().size());
    std::string file = path("part-" + std::to_string(shard.index) + ".npy");
    write_file_atomic(file, npy_header(NpyNumber::kFloat, rows, 2) + numbers);
    write_shard_rows(file, selection.finish({{"model", model}}));
    return file;
  }

  std::vector<std::string> write_shards(int64_t count) const {
    std::vector<std::string> paths;
    for (int64_t i = 0; i < count; ++i) paths.push_back(write_shard({i, count}));
    return paths;
  }

  std::string error_of(const std::vector<std::string>& paths) const {
    try {
      merge_shards(paths, path("merged.npy"), silent_events());
    } catch (const Error& error) {
      EXPECT_FALSE(file_exists(path("merged.npy")));
      return error.what();
    }
    return "";
  }

  std::string folder_;
  std::vector<std::string> texts_;
};

TEST_F(ShardTest, AreNamedByTheirPlaceAmongThem) {
  const Shard shard = parse_shard("3/16");
  EXPECT_EQ(shard.index, 3);
  EXPECT_EQ(shard.count, 16);
  EXPECT_EQ(shard.name(), "3/16");
  for (const char* bad :
       {"", "3", "/", "3/", "/3", "16/16", "-1/4", "0/0", "1/2/3", "a/b", "1/2 "}) {
    EXPECT_THROW(parse_shard(bad), Error) << bad;
  }
}

TEST_F(ShardTest, EveryRowIsOfOneShardAndEqualTextsAreOfTheSame) {
  std::vector<int> shard_of(texts_.size(), -1);
  for (int64_t i = 0; i < 7; ++i) {
    ShardSelection selection({i, 7});
    for (const std::string& text : texts_) selection.take(text);
    EXPECT_EQ(selection.texts(), 100);
    for (const int64_t row : selection.rows()) {
      EXPECT_EQ(shard_of[static_cast<size_t>(row)], -1);
      shard_of[static_cast<size_t>(row)] = static_cast<int>(i);
    }
  }
  EXPECT_THAT(shard_of, testing::Each(testing::Ge(0)));
  for (size_t i = 90; i < 100; ++i) EXPECT_EQ(shard_of[i], shard_of[i - 90]);
}

// Processes of several versions and machines must agree for ever.
TEST_F(ShardTest, TheRowsOfAShardAreKnown) {
  ShardSelection selection({0, 10});
  for (const std::string& text : texts_) selection.take(text);
  EXPECT_THAT(selection.rows(), testing::ElementsAre(24, 62, 73, 88));
}

TEST_F(ShardTest, PutTogetherTheyAreInTheOrderOfTheList) {
  for (const int64_t count : {1, 2, 7, 40}) {
    std::vector<std::string> paths = write_shards(count);
    std::reverse(paths.begin(), paths.end());
    const MergedShards merged = merge_shards(paths, path("merged.npy"), silent_events());
    EXPECT_EQ(merged.shards, count);
    EXPECT_EQ(merged.rows, 100);
    std::string expected = npy_header(NpyNumber::kFloat, 100, 2);
    for (int64_t row = 0; row < 100; ++row) expected += vector_of(row);
    EXPECT_EQ(read_file(path("merged.npy")), expected);
  }
}

TEST_F(ShardTest, WhatDoesNotBelongTogetherIsNamed) {
  std::vector<std::string> paths = write_shards(4);
  EXPECT_THAT(error_of({paths[0], paths[1], paths[3]}), HasSubstr("shard 2/4 is missing"));
  EXPECT_THAT(error_of({paths[0], paths[1], paths[2], paths[3], paths[2]}),
              HasSubstr("are both shard 2/4"));
  write_shard({3, 4}, "other");
  EXPECT_THAT(error_of(paths), HasSubstr("the model is 'm' in the one and 'other' in the other"));
  texts_.back() = "another";
  write_shard({3, 4});
  EXPECT_THAT(error_of(paths), HasSubstr("the list of texts is"));
  write_shard({3, 5});
  EXPECT_THAT(error_of(paths), HasSubstr("the number of shards is '4' in the one and '5'"));
  EXPECT_THAT(error_of({}), HasSubstr("no shard"));
}

TEST_F(ShardTest, DamageIsFound) {
  const std::vector<std::string> paths = write_shards(2);
  const std::string vectors = read_file(paths[1]);
  std::string damaged = vectors;
  damaged.back() ^= 1;
  write_file_atomic(paths[1], damaged);
  EXPECT_THAT(error_of(paths), HasSubstr("part-1.npy: its vectors are not those"));
  write_file_atomic(paths[1], vectors);
  std::string rows = read_file(rows_path(paths[1]));
  rows[rows.find("\"texts\":100") + 8] = '2';
  write_file_atomic(rows_path(paths[1]), rows);
  EXPECT_THAT(error_of(paths), HasSubstr("part-1.rows.json is damaged"));
  std::filesystem::remove(rows_path(paths[1]));
  EXPECT_THAT(error_of(paths), HasSubstr("is not beside it"));
}

TEST_F(ShardTest, TheOutputIsNoShard) {
  const std::vector<std::string> paths = write_shards(2);
  EXPECT_THROW(merge_shards(paths, paths[0], silent_events()), Error);
  EXPECT_THROW(merge_shards(paths, path("merged.jsonl"), silent_events()), Error);
  EXPECT_THROW(merge_shards({path("merged.jsonl")}, path("m.npy"), silent_events()), Error);
}

}  // namespace
}  // namespace simile
