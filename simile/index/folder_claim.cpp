// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/folder_claim.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile::detail {

namespace fs = std::filesystem;

FolderClaim::FolderClaim(const std::string& path, const std::string& index) : path_(path) {
  while (!try_lock(index)) release();
}

FolderClaim::~FolderClaim() { release(); }

// False when the folder was removed or replaced before it was locked.
bool FolderClaim::try_lock(const std::string& index) {
  const fs::path parent = fs::path(path_).parent_path();
  if (!parent.empty()) make_folders(parent.string());
  SIMILE_CHECK(!file_exists(path_), ErrorKind::kInput,
               fmt::format("'{}' is a file, but an unfinished build of '{}' is a folder there; "
                           "remove it",
                           path_, index));
  is_made_ = mkdir(path_.c_str(), 0777) == 0;
  if (!is_made_) make_folders(path_);  // fine where it is there; else says why not
  lock_.emplace(path_, FileLock::On::kFolder);
  SIMILE_CHECK(lock_->is_held(), ErrorKind::kUsage,
               fmt::format("another process is building an index in '{}'; wait for it, or choose "
                           "another folder",
                           index));
  return lock_->is_at(path_);
}

void FolderClaim::release() {
  if (lock_ && is_made_ && lock_->is_at(path_)) rmdir(path_.c_str());
  lock_.reset();
}

}  // namespace simile::detail
