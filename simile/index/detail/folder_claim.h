// SPDX-License-Identifier: Apache-2.0
// A lock on a folder: one of several processes that want to build an index holds it.
#pragma once

#include <optional>
#include <string>

#include "simile/core/file.h"

namespace simile::detail {

// Makes the folder at `path` with its parents, unless it is there, and locks it. When destroyed it
// unlocks the folder, and removes it if it made it and it is empty and still at `path`. Errors:
// ErrorKind::kUsage while another process holds the lock for the index at `index`; ErrorKind::kIo if
// the folder cannot be made.
class FolderClaim {
 public:
  FolderClaim(const std::string& path, const std::string& index);
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;
  ~FolderClaim();

 private:
  bool try_lock(const std::string& index);
  void release();

  std::string path_;
  std::optional<FileLock> lock_;
  bool is_made_ = false;
};

}  // namespace simile::detail
