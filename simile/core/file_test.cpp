// SPDX-License-Identifier: Apache-2.0
#include "simile/core/file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/error.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  FileTest()
      : folder_(fmt::format("{}simile_file_test_{}_{}", ::testing::TempDir(), getpid(),
                            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FileTest() override { fs::remove_all(folder_); }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
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

TEST_F(FileTest, ALinkStaysALinkAndAPipeAPipe) {
  const std::string target = join_path(folder_, "target"), link = join_path(folder_, "link"),
                    pipe = join_path(folder_, "pipe");
  write_file_atomic(target, "old");
  fs::create_symlink("target", link);
  write_file_atomic(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(target), "new");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string seen;
  std::thread reader([&] { seen = read_file(pipe); });
  write_file_atomic(pipe, "through");
  reader.join();
  EXPECT_EQ(seen, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(entries(), 3u);
}

TEST_F(FileTest, AtomicFolderReplacesOnlyOnCommit) {
  const std::string path = join_path(folder_, "model");
  for (const std::string version : {"one", "two"}) {
    AtomicFolder folder(path, "marker");
    write_file_atomic(join_path(folder.path(), "marker"), "");
    write_file_atomic(join_path(folder.path(), version), version);
    folder.commit();
  }
  EXPECT_TRUE(file_exists(join_path(path, "two")));
  EXPECT_FALSE(file_exists(join_path(path, "one")));
  { AtomicFolder abandoned(path, "marker"); }
  EXPECT_TRUE(file_exists(join_path(path, "two")));
  EXPECT_EQ(entries(), 1u);
}

// A commit killed between its renames, by a process whose number comes again.
TEST_F(FileTest, AtomicFolderReplacesBesideWhatAKilledCommitLeft) {
  const std::string path = join_path(folder_, "model");
  for (int i = 0; i < 2; ++i) {
    AtomicFolder folder(path, "marker");
    write_file_atomic(join_path(folder.path(), "marker"), "");
    make_folders(folder.path() + "-old");
    write_file_atomic(join_path(folder.path() + "-old", "marker"), "");
    EXPECT_NO_THROW(folder.commit());
    EXPECT_EQ(entries(), 1u);
  }
}

TEST_F(FileTest, AtomicFolderRemovesWhatKilledProcessesLeftAndNothingThatIsInUse) {
  const std::string path = join_path(folder_, "model");
  const auto commit = [&] {
    AtomicFolder folder(path, "marker");
    write_file_atomic(join_path(folder.path(), "marker"), "");
    folder.commit();
  };
  for (const char* name : {"model.tmp-17", "model.tmp-4711-3", "model.tmp-17-old", "model.tm"}) {
    make_folders(join_path(folder_, name));
  }
  EXPECT_THAT(describe_leftovers(path), ::testing::HasSubstr("model.tmp-4711-3'"));
  commit();
  EXPECT_TRUE(folder_exists(path + ".tmp-17-old"));  // the only copy, as long as there was no model
  EXPECT_EQ(entries(), 3u);
  const AtomicFolder other(path, "marker");
  EXPECT_EQ(entries(), 3u);
  commit();
  EXPECT_TRUE(folder_exists(other.path()));
  EXPECT_EQ(describe_leftovers(join_path(folder_, "none")), "");
}

TEST_F(FileTest, AtomicFolderReplacesWhatALinkPointsTo) {
  const std::string path = join_path(folder_, "model"), link = join_path(folder_, "link");
  make_folders(path);
  fs::create_directory_symlink("model", link);
  AtomicFolder folder(link, "marker");
  write_file_atomic(join_path(folder.path(), "marker"), "");
  folder.commit();
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(file_exists(join_path(path, "marker")));
}

TEST_F(FileTest, WhatIsReadIsNotReplaced) {
  const auto check = [&](const std::string& output, const std::string& input) {
    check_not_read(join_path(folder_, output), join_path(folder_, input));
    return true;
  };
  make_folders(join_path(folder_, "a/b"));
  fs::create_directory_symlink("a", join_path(folder_, "link"));
  EXPECT_TRUE(check("a/b", "a"));  // a folder in it
  EXPECT_TRUE(check("a", "ab"));
  EXPECT_TRUE(check("new", "a/b"));
  for (const auto& [output, input] : {std::pair("a", "a"),
                                      {"a/", "a"},
                                      {"a", "a/"},
                                      {"a", "a/b"},
                                      {"a", "link/b/c.tsv"},
                                      {"link", "a/b"},
                                      {"a/../a", "a"}}) {
    EXPECT_THAT(
        error_of(ErrorKind::kUsage, [&, output = output, input = input] { check(output, input); }),
        ::testing::HasSubstr("would be replaced"))
        << output << " " << input;
  }
}

TEST_F(FileTest, APipeWithoutAPathIsReadAndWritten) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto named = [](int end) { return "/dev/fd/" + std::to_string(end); };
  EXPECT_NO_THROW(check_not_read(join_path(folder_, "output"), named(ends[0])));
  EXPECT_NO_THROW(check_not_read(named(ends[1]), named(ends[0])));
  write_file_atomic(named(ends[1]), "bytes");
  close(ends[1]);
  EXPECT_EQ(read_file(named(ends[0])), "bytes");
  close(ends[0]);
}

TEST_F(FileTest, AtomicFolderReplacesNothingOfAnotherKind) {
  const std::string path = join_path(folder_, "keep");
  const auto commit = [&] {
    AtomicFolder folder(path, "marker");
    write_file_atomic(join_path(folder.path(), "marker"), "");
    folder.commit();
  };
  make_folders(path);
  EXPECT_NO_THROW(commit()) << "an empty folder is nobody's";
  write_file_atomic(join_path(path, "thesis.txt"), "years of work");
  EXPECT_NO_THROW(commit());
  fs::remove(join_path(path, "marker"));
  write_file_atomic(join_path(path, "thesis.txt"), "years of work");
  try {
    commit();
    ADD_FAILURE() << "replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("keep"), ::testing::HasSubstr("marker")));
  }
  EXPECT_EQ(read_file(join_path(path, "thesis.txt")), "years of work");
  fs::remove_all(path);
  write_file_atomic(path, "a file");
  EXPECT_THROW(commit(), Error);
  EXPECT_EQ(read_file(path), "a file");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AStartIsRewrittenWhenTheRestIsKnown) {
  const std::string path = join_path(folder_, "counted");
  AtomicFile file(path);
  file.write("rows 0\n");
  file.write("a\nb\n");
  file.rewrite_start("rows 2\n");
  file.write("c\n");
  file.rewrite_start("rows 3\n");
  file.commit();
  EXPECT_EQ(read_file(path), "rows 3\na\nb\nc\n");
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
    return error_of(kind, [&] { action(); });
  };
  EXPECT_THAT(
      message([&] { read_file(folder_ + "/none"); }, ErrorKind::kInput),
      ::testing::AllOf(::testing::HasSubstr("/none"), ::testing::HasSubstr("No such file")));
  EXPECT_THAT(message([&] { read_file(folder_); }, ErrorKind::kInput),
              ::testing::HasSubstr("Is a directory"));
  EXPECT_THAT(message([&] { write_file_atomic(folder_ + "/no/such/file", "x"); }, ErrorKind::kIo),
              ::testing::HasSubstr("cannot write"));
}

TEST(FileLock, OneHasItUntilItIsGone) {
  const ScratchFolder folder("simile-lock-test");
  const std::string path = join_path(folder.path(), "run.lock");
  std::optional<FileLock> first(std::in_place, path, FileLock::On::kFile);
  EXPECT_TRUE(first->is_held());
  EXPECT_FALSE(FileLock(path, FileLock::On::kFile).is_held());
  first.reset();
  EXPECT_TRUE(FileLock(path, FileLock::On::kFile).is_held());
  EXPECT_THROW(FileLock(join_path(path, "below"), FileLock::On::kFile), Error);
}

TEST(FileLock, KnowsWhetherItsFolderIsStillThere) {
  const ScratchFolder scratch("simile-lock-test");
  const std::string folder = join_path(scratch.path(), "index");
  EXPECT_FALSE(FileLock(folder, FileLock::On::kFolder).is_at(folder));
  make_folders(folder);
  const FileLock lock(folder, FileLock::On::kFolder);
  EXPECT_TRUE(lock.is_held());
  EXPECT_TRUE(lock.is_at(folder));
  EXPECT_FALSE(FileLock(folder, FileLock::On::kFolder).is_held());
  std::filesystem::rename(folder, folder + "-old");
  make_folders(folder);
  EXPECT_FALSE(lock.is_at(folder));
}

TEST(ScratchFolder, IsGoneWithItsFiles) {
  std::string path;
  {
    const ScratchFolder folder("simile-scratch-test");
    path = folder.path();
    write_file_atomic(join_path(path, "file"), "text");
    EXPECT_NE(ScratchFolder("simile-scratch-test").path(), path);
  }
  EXPECT_FALSE(folder_exists(path));
}

}  // namespace
}  // namespace simile
