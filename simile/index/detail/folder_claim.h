// SPDX-License-Identifier: Apache-2.0
// The right to make what will stand in a folder: of several processes that want it, one has it.
#pragma once

#include <optional>
#include <string>

#include "simile/core/file_lock.h"

namespace simile::detail {

// Makes the folder, with its parents, where it is not there, and locks it until destroyed; then an
// empty one that it made is removed. What is moved to its place meanwhile stays. Errors:
// ErrorKind::kUsage while another holds it; ErrorKind::kIo when it cannot be made.
class FolderClaim {
 public:
  explicit FolderClaim(const std::string& path);
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;
  ~FolderClaim();

 private:
  bool try_lock();
  void release();

  std::string path_;
  std::optional<FileLock> lock_;
  bool is_made_ = false;
};

}  // namespace simile::detail
