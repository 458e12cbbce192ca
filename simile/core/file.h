// SPDX-License-Identifier: Apache-2.0
// Files and folders: whole reads, memory maps, writes that are complete or not there at all, locks,
// and folders for temporary files.
//
// Errors: a file that cannot be read is ErrorKind::kInput, one that cannot be written
// ErrorKind::kIo; both name the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

std::string read_file(const std::string& path);
bool file_exists(const std::string& path);  // a regular file
bool folder_exists(const std::string& path);
std::string join_path(const std::string& folder, const std::string& name);
void make_folders(const std::string& path);  // with parents; fine when it exists

// Whether a path, or another name of parts, ends or starts so: ends_with("a.tsv", ".tsv").
inline bool ends_with(std::string_view name, std::string_view ending) {
  return name.size() >= ending.size() &&
         name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

inline bool starts_with(std::string_view name, std::string_view beginning) {
  return name.substr(0, beginning.size()) == beginning;
}

// A read-only memory map of a whole file. Movable; unmapped when destroyed.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::string_view bytes() const { return {data_, size_}; }
  // Tells the system that these bytes will not be needed again soon, so that they need not stay
  // resident.
  void release(size_t offset, size_t size) const;
  // Whether bytes far apart will be read next, so that what is not in memory is read page by page,
  // or, as it is at first, with what follows.
  void expect_jumps(bool jumps) const;

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// Writes `path` under a temporary name beside it; commit() flushes to disk and renames. Destroyed
// without commit(), it leaves nothing behind and the old file as it was.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();
  void write(std::string_view bytes);
  // Puts `bytes` in place of the first ones, of which there are as many: a header that only the
  // end of the data completes. Writing then goes on at the end.
  void rewrite_start(std::string_view bytes);
  void commit();

 private:
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
};

void write_file_atomic(const std::string& path, std::string_view bytes);

// Fills a new folder under a temporary name beside `path`; commit() moves it to `path`, replacing a
// folder of the same kind that was there. `marker` names a file that every folder of this kind has:
// what is at `path` must be a folder that is empty or has it, otherwise it is a stranger's and the
// constructor and commit() throw ErrorKind::kUsage. Destroyed without commit(), it leaves nothing
// behind.
class AtomicFolder {
 public:
  AtomicFolder(const std::string& path, const std::string& marker);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();
  const std::string& path() const { return temporary_; }  // write the files here
  void commit();

 private:
  std::string path_, marker_, temporary_;
};

// Errors (kUsage): something that is not a folder is at `path`, or a folder that has files but none
// of the name `marker`, which every folder of the kind has.
void check_replaceable(const std::string& path, const std::string& marker);

// Moves the folder `from`, beside `path`, to `path`, so that one of the two is always there. A folder at `path` is exchanged for it in one
// step, if the file system can, and then removed. Errors: those of check_replaceable(); kIo if the
// folder cannot be moved.
void replace_folder(const std::string& from, const std::string& path, const std::string& marker);

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
