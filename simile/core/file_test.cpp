// SPDX-License-Identifier: Apache-2.0
#include "simile/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "simile/core/error.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  FileTest() : folder_(::testing::TempDir() + "simile_file_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FileTest() override { fs::remove_all(folder_); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  const std::string folder_;
};

TEST_F(FileTest, AtomicFileReplacesOnlyOnCommit) {
  const std::string path = join_path(folder_, "a.txt");
  write_file_atomic(path, "old");
  {
    AtomicFile file(path);
    file.write("half");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(), 1u);
  write_file_atomic(path, "new");
  EXPECT_EQ(read_file(path), "new");
}

TEST_F(FileTest, AtomicFolderReplacesOnlyOnCommit) {
  const std::string path = join_path(folder_, "model");
  for (const std::string version : {"one", "two"}) {
    AtomicFolder folder(path);
    write_file_atomic(join_path(folder.path(), version), version);
    folder.commit();
  }
  EXPECT_TRUE(file_exists(join_path(path, "two")));
  EXPECT_FALSE(file_exists(join_path(path, "one")));
  { AtomicFolder abandoned(path); }
  EXPECT_TRUE(file_exists(join_path(path, "two")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, MappedFileShowsTheBytesAndAnEmptyFileIsEmpty) {
  const std::string path = join_path(folder_, "m");
  write_file_atomic(path, "bytes");
  EXPECT_EQ(MappedFile(path).bytes(), "bytes");
  write_file_atomic(path, "");
  EXPECT_TRUE(MappedFile(path).bytes().empty());
}

TEST_F(FileTest, FailuresNameThePathAndTheReason) {
  const auto message = [](auto action, ErrorKind kind) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message([&] { read_file(folder_ + "/none"); }, ErrorKind::kInput),
              ::testing::AllOf(::testing::HasSubstr("/none"), ::testing::HasSubstr("No such file")));
  EXPECT_THAT(message([&] { read_file(folder_); }, ErrorKind::kInput),
              ::testing::HasSubstr("Is a directory"));
  EXPECT_THAT(message([&] { write_file_atomic(folder_ + "/no/such/file", "x"); }, ErrorKind::kIo),
              ::testing::HasSubstr("cannot write"));
}

}  // namespace
}  // namespace simile
