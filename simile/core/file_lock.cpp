// SPDX-License-Identifier: Apache-2.0
#include "simile/core/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "simile/core/error.h"

namespace simile {

FileLock::FileLock(const std::string& path, On on) {
  const int flags = on == On::kFile ? O_RDWR | O_CREAT : O_RDONLY | O_DIRECTORY;
  file_ = open(path.c_str(), flags | O_CLOEXEC, 0666);
  SIMILE_CHECK(file_ >= 0 || (on == On::kFolder && errno == ENOENT), ErrorKind::kIo,
               fmt::format("cannot {} '{}': {}", on == On::kFile ? "write" : "open", path,
                           std::strerror(errno)));
  held_ = file_ < 0 || flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

bool FileLock::is_at(const std::string& path) const {
  struct stat held {
  }, there{};
  return file_ >= 0 && fstat(file_, &held) == 0 && stat(path.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

ScratchFolder::ScratchFolder(const std::string& name)
    : path_((std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string()) {
  SIMILE_CHECK(mkdtemp(path_.data()) != nullptr, ErrorKind::kIo,
               fmt::format("cannot make a folder '{}' for temporary files: {}; set TMPDIR to one "
                           "that can be written",
                           path_, std::strerror(errno)));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace simile
