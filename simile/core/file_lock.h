// SPDX-License-Identifier: Apache-2.0
// Folders of one process: a lock that keeps others out, and a scratch folder for temporary files.
#pragma once

#include <string>

namespace simile {

// A lock that one process has of a file or folder, tried once and held until destroyed. Where the
// file system has no locks every process holds it.
class FileLock {
 public:
  enum class On { kFile, kFolder };

  // A file is made where it is not there; a folder that is missing is not locked. Errors:
  // ErrorKind::kIo.
  FileLock(const std::string& path, On on);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();
  bool is_held() const { return held_; }      // no other process has it
  bool is_at(const std::string& path) const;  // what is locked, and not something in its place

 private:
  int file_ = -1;
  bool held_ = false;
};

// A new folder for temporary files, removed with them when destroyed. Its name begins with `name`.
// Errors: ErrorKind::kIo.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace simile
