// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/detail/record_sort.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <queue>
#include <string>
#include <system_error>

#include "simile/core/error.h"

namespace simile::detail {
namespace {

constexpr int64_t kFewest = 64;  // records in memory, at least
constexpr int64_t kRecord = sizeof(SortRecord);

std::string temporary_folder() {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error);
  SIMILE_CHECK(!error, ErrorKind::kIo,
               fmt::format("cannot sort outside memory: no folder for temporary files ({}); set "
                           "TMPDIR to one that exists, or give the order more memory",
                           error.message()));
  return folder;
}

[[noreturn]] void fail(const char* action, int code) {
  throw Error(ErrorKind::kIo,
              fmt::format("cannot {} a temporary file in '{}': {}; set TMPDIR to a folder with "
                          "more room, or give the order more memory",
                          action, temporary_folder(), std::strerror(code)));
}

int open_nameless_file() {
  std::string path = temporary_folder() + "/simile-sort-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) fail("make", errno);
  unlink(path.c_str());
  return file;
}

// Calls transfer(done, left) until `count` records went through; it returns what it did in bytes.
template <typename Transfer>
void transfer_records(int64_t count, const char* action, int code_at_end,
                      const Transfer& transfer) {
  for (int64_t left = count * kRecord, done = 0; left > 0;) {
    const ssize_t bytes = transfer(done, static_cast<size_t>(left));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) fail(action, bytes < 0 ? errno : code_at_end);
    done += bytes;
    left -= bytes;
  }
}

void write_records(int file, const SortRecord* records, int64_t count, int64_t at) {
  const char* from = reinterpret_cast<const char*>(records);
  transfer_records(count, "write", ENOSPC, [&](int64_t done, size_t left) {
    return pwrite(file, from + done, left, at * kRecord + done);
  });
}

void read_records(int file, SortRecord* records, int64_t count, int64_t at) {
  char* to = reinterpret_cast<char*>(records);
  transfer_records(count, "read", EIO, [&](int64_t done, size_t left) {
    return pread(file, to + done, left, at * kRecord + done);
  });
}

// The records of one run in order, read piece by piece.
class RunReader {
 public:
  RunReader(int file, int64_t begin, int64_t end, int64_t piece)
      : file_(file), next_(begin), end_(end), piece_(piece) {
    advance();
  }
  bool done() const { return at_ == buffer_.size(); }
  const SortRecord& record() const { return buffer_[at_]; }
  void advance() {
    if (!buffer_.empty() && ++at_ < buffer_.size()) return;
    at_ = 0;
    buffer_.resize(static_cast<size_t>(std::min(piece_, end_ - next_)));
    read_records(file_, buffer_.data(), static_cast<int64_t>(buffer_.size()), next_);
    next_ += static_cast<int64_t>(buffer_.size());
  }

 private:
  int file_;
  int64_t next_, end_, piece_;
  size_t at_ = 0;
  std::vector<SortRecord> buffer_;
};

}  // namespace

RecordSorter::RecordSorter(int64_t expected, int64_t memory_bytes)
    : capacity_(static_cast<size_t>(std::max(kFewest, memory_bytes / kRecord))) {
  records_.reserve(std::min(capacity_, static_cast<size_t>(expected)));
}

RecordSorter::~RecordSorter() {
  if (file_ >= 0) close(file_);
}

void RecordSorter::add(const SortRecord& record) {
  if (records_.size() == capacity_) spill();
  records_.push_back(record);
}

void RecordSorter::spill() {
  if (file_ < 0) file_ = open_nameless_file();
  std::sort(records_.begin(), records_.end());
  const int64_t begin = runs_.empty() ? 0 : runs_.back().end;
  const auto count = static_cast<int64_t>(records_.size());
  write_records(file_, records_.data(), count, begin);
  runs_.push_back({begin, begin + count});
  records_.clear();
}

void RecordSorter::drain(const std::function<void(const SortRecord&)>& take) {
  if (spilled()) {
    if (!records_.empty()) spill();
    std::vector<SortRecord>().swap(records_);  // clear() would keep the memory
    merge(take);
    return;
  }
  std::sort(records_.begin(), records_.end());
  for (const SortRecord& record : records_) take(record);
  std::vector<SortRecord>().swap(records_);
}

void RecordSorter::merge(const std::function<void(const SortRecord&)>& take) {
  const auto runs = static_cast<int64_t>(runs_.size());
  const int64_t piece = std::max(kFewest, static_cast<int64_t>(capacity_) / runs);
  std::vector<RunReader> readers;
  for (const Run& run : runs_) readers.emplace_back(file_, run.begin, run.end, piece);
  const auto later = [&](size_t a, size_t b) { return readers[b].record() < readers[a].record(); };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> first(later);
  for (size_t run = 0; run < readers.size(); ++run) first.push(run);
  while (!first.empty()) {
    const size_t run = first.top();
    first.pop();
    take(readers[run].record());
    readers[run].advance();
    if (!readers[run].done()) first.push(run);
  }
}

}  // namespace simile::detail
