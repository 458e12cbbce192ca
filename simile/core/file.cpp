// SPDX-License-Identifier: Apache-2.0
#include "simile/core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "simile/core/check.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_read(const std::string& path, int code) {
  throw_error(code == ENOMEM ? ErrorKind::kFailed : ErrorKind::kInput, "cannot read '{}': {}", path,
              std::strerror(code));
}

[[noreturn]] void fail_write(const std::string& path, int code) {
  throw_error(ErrorKind::kIo, "cannot write '{}': {}; what was there before is unchanged", path,
              std::strerror(code));
}

std::string temporary_name(const std::string& path) {
  return fmt::format("{}.tmp-{}", fs::path(path).lexically_normal().string(), getpid());
}

struct OpenFile {
  explicit OpenFile(const std::string& path)
      : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) fail_read(path, errno);
    if (fstat(descriptor, &status) != 0) fail_read(path, errno);
    if (S_ISDIR(status.st_mode)) fail_read(path, EISDIR);
  }
  ~OpenFile() {
    if (descriptor >= 0) close(descriptor);
  }
  int descriptor;
  struct stat status {};
};

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Flushes the folder that `path` is in. A rename survives a crash of the machine only after that.
void sync_folder_of(const std::string& path) {
  const int folder = open(parent_of(path).c_str(), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

}  // namespace

std::string read_file(const std::string& path) {
  const OpenFile file(path);
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = read(file.descriptor, buffer, sizeof buffer);
    if (count < 0) fail_read(path, errno);
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
  }
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool stream_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
}

bool folder_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string join_path(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

void make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_write(path, error.value());
}

MappedFile::MappedFile(const std::string& path) {
  const OpenFile file(path);
  size_ = static_cast<size_t>(file.status.st_size);
  if (size_ == 0) return;
  void* data = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  if (data == MAP_FAILED) fail_read(path, errno);
  data_ = static_cast<const char*>(data);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

void MappedFile::release(size_t offset, size_t size) const {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t begin = (offset + page - 1) / page * page, end = (offset + size) / page * page;
  if (begin < end) madvise(const_cast<char*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::expect_jumps(bool jumps) const {
  if (data_ != nullptr) madvise(const_cast<char*>(data_), size_, jumps ? MADV_RANDOM : MADV_NORMAL);
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) path_ = real_path(path);
  const bool replaces = !stream_exists(path_);
  if (replaces) temporary_ = temporary_name(path_);
  file_ = std::fopen((replaces ? temporary_ : path_).c_str(), "wb");
  if (file_ == nullptr) fail_write(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  if (bytes.empty()) return;  // fwrite must not see a null pointer
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail_write(path_, errno);
}

void AtomicFile::rewrite_start(std::string_view bytes) {
  if (std::fseek(file_, 0, SEEK_SET) != 0) fail_write(path_, errno);
  write(bytes);
  if (std::fseek(file_, 0, SEEK_END) != 0) fail_write(path_, errno);
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0) fail_write(path_, errno);
  if (!temporary_.empty() && fsync(fileno(file_)) != 0) fail_write(path_, errno);
  const int closed = std::fclose(std::exchange(file_, nullptr));
  const bool replaces = !temporary_.empty();
  if (closed != 0 || (replaces && std::rename(temporary_.c_str(), path_.c_str()) != 0)) {
    const int code = errno;
    if (replaces) unlink(temporary_.c_str());
    fail_write(path_, code);
  }
  if (replaces) sync_folder_of(path_);
}

void write_file_atomic(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  return error ? path : real.string();
}

std::string folder_place(const std::string& path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored) && fs::is_directory(path, ignored)) {
    return fs::canonical(path).string();
  }
  std::string place = fs::path(path).lexically_normal().string();
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return place;
}

void check_not_read(const std::string& output, const std::string& input) {
  const fs::path target = folder_place(real_path(output));
  const fs::path read = folder_place(real_path(input));
  const auto parts = std::mismatch(target.begin(), target.end(), read.begin(), read.end());
  SIMILE_CHECK(parts.first != target.end(), ErrorKind::kUsage,
               "'{}' {} what the command reads ('{}') and would be replaced; give another output",
               output, target == read ? "is" : "holds", input);
}

std::string describe_leftovers(const std::string& path) {
  const fs::path place = folder_place(path);
  std::string found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent_of(place), ignored)) {
    const std::string name = entry.path().filename().string(), own = place.filename().string();
    if (!starts_with(name, own + ".tmp-") && !starts_with(name, own + ".building")) continue;
    found += fmt::format("{}'{}'", found.empty() ? "; a process that was killed left " : ", ",
                         (place.parent_path() / name).string());
  }
  return found;
}

AtomicFolder::AtomicFolder(const std::string& path, const std::string& marker)
    : path_(folder_place(path)), marker_(marker) {
  check_replaceable(path_, marker_);
  make_folders(parent_of(path_).string());
  if (!folder_.make(path_ + ".tmp-", 0777)) fail_write(path_, errno);
}

void AtomicFolder::commit() {
  replace_folder(folder_.path(), path_, marker_);
  folder_.path_.clear();
}

void check_replaceable(const std::string& path, const std::string& marker) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) return;
  const bool folder = fs::is_directory(path, ignored);
  if (folder && (fs::is_empty(path, ignored) || file_exists(join_path(path, marker)))) return;
  throw Error(ErrorKind::kUsage,
              folder ? fmt::format("'{}' holds other files (it has no {}) and would be replaced; "
                                   "choose another name or empty it",
                                   path, marker)
                     : fmt::format("'{}' is not a folder and would be replaced by one; choose "
                                   "another name or remove it",
                                   path));
}

void replace_folder(const std::string& from, const std::string& path, const std::string& marker) {
  check_replaceable(path, marker);
  std::error_code error;
  fs::remove_all(from + "-old", error);  // of a process that was killed
  const bool replaces = fs::exists(path, error);
  error.clear();
  const bool is_exchanged =
      replaces && renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0;
  if (!is_exchanged) {
    // Where the file system cannot exchange, no folder is at `path` for a moment.
    const std::string spare = from + "-old";
    if (replaces) fs::rename(path, spare, error);
    if (!error) {
      fs::rename(from, path, error);
      std::error_code ignored;
      if (replaces) fs::rename(spare, error ? path : from, ignored);
    }
  }
  if (error) fail_write(path, error.value());
  sync_folder_of(path);
  if (replaces) fs::remove_all(from, error);
}

FileLock::FileLock(const std::string& path, On on) {
  const int flags = on == On::kFile ? O_RDWR | O_CREAT : O_RDONLY | O_DIRECTORY;
  file_ = open(path.c_str(), flags | O_CLOEXEC, 0666);
  SIMILE_CHECK(file_ >= 0 || (on == On::kFolder && errno == ENOENT), ErrorKind::kIo,
               "cannot {} '{}': {}", on == On::kFile ? "write" : "open", path,
               std::strerror(errno));
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

ScratchFolder::ScratchFolder(const std::string& name) {
  const std::string beginning = (fs::temp_directory_path() / (name + "-")).string();
  SIMILE_CHECK(
      make(beginning, 0700), ErrorKind::kIo,
      "cannot make a folder '{}' for temporary files: {}; set TMPDIR to one that can be written",
      path_, std::strerror(errno));
}

// A process locks its folder before it uses it, and only a folder that is locked is removed by
// others.
bool ScratchFolder::make(const std::string& beginning, unsigned mode) {
  const std::string name = fs::path(beginning).filename().string();
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent_of(beginning), ignored)) {
    const std::string other = entry.path().filename().string();
    if (!starts_with(other, name)) continue;
    // A folder that a killed replace_folder() moved away may be the only copy.
    if (ends_with(other, "-old") && !fs::exists(beginning.substr(0, beginning.rfind(".tmp-")))) {
      continue;
    }
    const int folder = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) continue;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    close(folder);
  }
  for (int number = 0;; ++number) {
    path_ = fmt::format("{}{}-{}", beginning, getpid(), number);
    if (mkdir(path_.c_str(), mode) != 0) {
      if (errno == EEXIST) continue;
      return false;
    }
    lock_.emplace(path_, FileLock::On::kFolder);
    if (lock_->is_held() && lock_->is_at(path_)) return true;
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace simile
