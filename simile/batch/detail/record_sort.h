// SPDX-License-Identifier: Apache-2.0
// Sorts records within bounded memory: in memory while they fit, by an external merge sort when
// they do not.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

namespace simile::detail {

// Ordered by key, then tie, then example.
struct SortRecord {
  uint64_t key;
  uint32_t tie;
  int32_t example;

  bool operator<(const SortRecord& other) const {
    return std::tie(key, tie, example) < std::tie(other.key, other.tie, other.example);
  }
};

class RecordSorter {
 public:
  // `expected` records will be added, so that memory is taken once: at most `memory_bytes`, but
  // room for 64 records. More records than that go to a file, in sorted runs.
  //
  // The file lies in the system's folder for temporary files (TMPDIR, or /tmp). It loses its name
  // as soon as it is open, so it is gone with this object, whatever happens to the program.
  RecordSorter(int64_t expected, int64_t memory_bytes);
  RecordSorter(const RecordSorter&) = delete;
  RecordSorter& operator=(const RecordSorter&) = delete;
  ~RecordSorter();

  // Errors (kIo): the file cannot be made or written.
  void add(const SortRecord& record);

  // Hands over all records in order, whether they spilled or not; ends the collection. Reading
  // takes the memory again that adding took, or 1 KiB a run if that is more. Errors (kIo): the file
  // cannot be read.
  void drain(const std::function<void(const SortRecord&)>& take);

  bool spilled() const { return !runs_.empty(); }

 private:
  struct Run {
    int64_t begin, end;  // records of the file
  };
  void spill();
  void merge(const std::function<void(const SortRecord&)>& take);

  size_t capacity_;
  std::vector<SortRecord> records_;
  std::vector<Run> runs_;
  int file_ = -1;
};

}  // namespace simile::detail
