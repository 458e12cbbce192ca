// SPDX-License-Identifier: Apache-2.0
#include "simile/core/replace_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

// Where the file system cannot exchange, no folder is at `path` for a moment.
void exchange(const std::string& from, const std::string& path, std::error_code& error) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return;
  const std::string spare = from + "-old";
  fs::rename(path, spare, error);
  if (error) return;
  fs::rename(from, path, error);
  std::error_code ignored;
  fs::rename(spare, error ? path : from, ignored);
}

}  // namespace

void check_replaceable(const std::string& path, const std::string& marker) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  const bool folder = fs::is_directory(path, ignored);
  if (folder && (fs::is_empty(path, ignored) || file_exists(join_path(path, marker)))) return;
  throw Error(
      ErrorKind::kUsage,
      folder ? fmt::format("'{}' holds other files (it has no {}) and would be replaced; choose "
                           "another name or empty it",
                           path, marker)
             : fmt::format("'{}' is not a folder and would be replaced by one; choose another "
                           "name or remove it",
                           path));
}

void replace_folder(const std::string& from, const std::string& path, const std::string& marker) {
  check_replaceable(path, marker);
  std::error_code error;
  fs::remove_all(from + "-old", error);  // of a process that was killed
  const bool replaces = fs::exists(path, error);
  error.clear();
  if (replaces) {
    exchange(from, path, error);
  } else {
    fs::rename(from, path, error);
  }
  SIMILE_CHECK(!error, ErrorKind::kIo,
               fmt::format("cannot write '{}': {}; what was there before is unchanged", path,
                           error.message()));
  sync_folder_of(path);
  if (replaces) fs::remove_all(from, error);
}

void sync_folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const int folder = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace simile
