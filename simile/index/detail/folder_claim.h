// SPDX-License-Identifier: Apache-2.0
// The right to make what will stand in a folder: of several processes that want it, one has it.
#pragma once

#include <string>

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
  bool is_at_path() const;
  void release();

  std::string path_;
  int folder_ = -1;
  bool is_made_ = false;
};

}  // namespace simile::detail
