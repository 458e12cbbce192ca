// SPDX-License-Identifier: Apache-2.0
// Files and folders: whole reads, memory maps, all-or-nothing writes, locks, temporary folders.
//
// Errors: a file that cannot be read is ErrorKind::kInput, one that cannot be written
// ErrorKind::kIo; both name the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

std::string read_file(const std::string& path);
bool file_exists(const std::string& path);    // a regular file
bool stream_exists(const std::string& path);  // what is no regular file: a pipe, a device
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
  // Whether bytes far apart will be read next: pages that are not in memory are then read one by
  // one. By default they are read together with the pages that follow.
  void expect_jumps(bool jumps) const;

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// Writes `path`, or the file that it links to, under a temporary name beside it; commit() flushes to
// disk and renames. Destroyed without commit(), it leaves nothing behind and the old file as it was.
// What is no regular file (a device, a pipe) is written directly and stays what it is.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();
  void write(std::string_view bytes);
  // Replaces the first bytes by `bytes`, which must not be more: for a header that is only known at
  // the end of the data. Writing then continues at the end.
  void rewrite_start(std::string_view bytes);
  void commit();

 private:
  std::string path_, temporary_;
  std::FILE* file_ = nullptr;
};

void write_file_atomic(const std::string& path, std::string_view bytes);

// A lock that one process has of a file or folder, tried once and held until destroyed. Where the
// file system has no locks every process holds it.
class FileLock {
 public:
  enum class On { kFile, kFolder };

  // A missing file is created; a missing folder is not locked. Errors: ErrorKind::kIo.
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

// A new folder for temporary files, locked, and removed with them when destroyed. Leftovers of
// killed processes under such a name are removed first. Errors: ErrorKind::kIo.
class ScratchFolder {
 public:
  // NAME-... in TMPDIR, which only this user can read.
  explicit ScratchFolder(const std::string& name);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  friend class AtomicFolder;
  ScratchFolder() = default;
  bool make(const std::string& beginning, unsigned mode);

  std::string path_;
  std::optional<FileLock> lock_;
};

// `path` without links. The pipe behind /dev/stdout or a shell's /dev/fd/63 has no path to follow
// the link to; it keeps the name that it was given.
std::string real_path(const std::string& path);

// The place to make a folder that will be `path`: the path without a final slash, or its target if
// it is a link to a folder, so that the link stays.
std::string folder_place(const std::string& path);

// Errors (kUsage): `output` is `input`, which is read, or a folder that holds it.
void check_not_read(const std::string& output, const std::string& input);

// Names a killed process' leftovers beside a missing folder: "; 'kb.building' beside it ...", or
// "".
std::string describe_leftovers(const std::string& path);

// Fills a new folder under a temporary name beside `path`; commit() moves it to `path`, replacing a
// folder of the same kind that was there. `marker` names a file that every folder of this kind has.
// `path` must be a folder that is empty or has this file; otherwise it belongs to something else,
// and the constructor and commit() throw ErrorKind::kUsage. Destroyed without commit(), it leaves
// nothing behind.
class AtomicFolder {
 public:
  AtomicFolder(const std::string& path, const std::string& marker);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  const std::string& path() const { return folder_.path(); }  // write the files here
  void commit();

 private:
  std::string path_, marker_;
  ScratchFolder folder_;
};

// Errors (kUsage): something that is not a folder is at `path`, or a folder that has files but none
// of the name `marker`, which every folder of the kind has.
void check_replaceable(const std::string& path, const std::string& marker);

// Moves the folder `from`, beside `path`, to `path`. A folder at `path` is exchanged for it in one
// step, if the file system can, so that one of the two is always there, and then removed. Errors:
// those of check_replaceable(); kIo if the folder cannot be moved.
void replace_folder(const std::string& from, const std::string& path, const std::string& marker);

}  // namespace simile
