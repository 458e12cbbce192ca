// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/folder_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile::detail {

namespace fs = std::filesystem;

FolderClaim::FolderClaim(const std::string& path)
    : path_(fs::path(path).lexically_normal().string()) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  while (!try_lock()) release();
}

FolderClaim::~FolderClaim() { release(); }

// False when the folder was removed or replaced before it was locked.
bool FolderClaim::try_lock() {
  const fs::path parent = fs::path(path_).parent_path();
  if (!parent.empty()) make_folders(parent.string());
  is_made_ = mkdir(path_.c_str(), 0777) == 0;
  if (!is_made_) make_folders(path_);  // fine where it is there; else says why not
  folder_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) {
    SIMILE_CHECK(errno == ENOENT, ErrorKind::kIo, fmt::format("cannot open '{}'", path_));
    return false;
  }
  // Where the file system knows no locks, there are none.
  if (flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(std::exchange(folder_, -1));
    throw Error(ErrorKind::kUsage,
                fmt::format("another process is building an index in '{}'; wait for it, or choose "
                            "another folder",
                            path_));
  }
  return is_at_path();
}

bool FolderClaim::is_at_path() const {
  struct stat held {
  }, there{};
  return fstat(folder_, &held) == 0 && stat(path_.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

void FolderClaim::release() {
  if (folder_ < 0) return;
  if (is_made_ && is_at_path()) rmdir(path_.c_str());
  close(std::exchange(folder_, -1));
}

}  // namespace simile::detail
