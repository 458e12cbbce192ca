// SPDX-License-Identifier: Apache-2.0
#include "simile/core/file_lock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

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
