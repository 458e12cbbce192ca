// SPDX-License-Identifier: Apache-2.0
// A segment: some vectors of an index with their keys, in a file that never changes.
//
// The file, all numbers little-endian:
//
//   byte 0   16 bytes  "simile segment" and two zeros
//   16       uint32    how the vectors are stored: 1 fp32, 2 fp16, 3 int8 (exact_search.h)
//   20       uint32    metric: 0 inner product, 1 squared distance, 2 absolute distance
//   24       int64     D, the dimension
//   32       int64     n, the number of vectors, at least 1
//   40       int64     the number of the segment
//   48       32 bytes  what the segment belongs to, as text: digits that the caller has for it
//   80       32 bytes  checksum of all behind the vectors, as text: hash_bytes() (core/hash.h)
//   112      32 bytes  checksum of the vectors
//   144      32 bytes  checksum of bytes 0 to 143, and so of everything
//   176      16 zeros
//   192      n vectors one after another, and zeros up to a multiple of 8 bytes; then n int64,
//            their keys, which rise; then n uint64, the hashes of what the vectors are of
//
// Errors: kInput for a file that is damaged, of another layout, or another segment than expected;
// kIo for one that cannot be written. Several threads may call const methods.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simile/core/file.h"
#include "simile/core/hash.h"
#include "simile/neighbours/exact_search.h"

namespace simile {

namespace detail {
class WordFile;
}

// Identifies the document or passage of a vector.
struct VectorKey {
  int64_t key = 0;
  uint64_t content = 0;  // a hash of what has this key, by which it is recognised
};

// The most passages of a document. The vector of passage i has the document's key + i.
constexpr int64_t kMostPassages = int64_t{1} << 20;

// A segment as its index lists it.
struct SegmentRow {
  int64_t number = 0;
  int64_t first_key = 0, last_key = 0;
  int64_t rows = 0;
  std::string checksum;  // the last of the header's
};

struct SegmentKind {
  int64_t dimension = 0;
  VectorMetric metric = VectorMetric::kInnerProduct;
  std::string owner;  // what the segment belongs to, 32 characters
  StoredNumber vectors = StoredNumber::kFp32;

  int64_t row_bytes() const { return stored_bytes(vectors, dimension); }
};

// Writes vectors as they come; holds only the 16 bytes of a key for each.
class SegmentWriter {
 public:
  SegmentWriter(const std::string& path, const SegmentKind& kind, int64_t number);

  // `count` vectors, stored as the kind says, under keys[count], which rise from call to call.
  void add(const void* vectors, const VectorKey* keys, int64_t count);
  int64_t rows() const { return static_cast<int64_t>(keys_.size()); }

  // Flushes the file and gives it its name. There must be a row. Without commit() no file is left.
  SegmentRow commit();

 private:
  SegmentKind kind_;
  int64_t number_;
  std::vector<int64_t> keys_;
  std::vector<uint64_t> contents_;
  Hash128 vectors_hash_;
  AtomicFile file_;
};

class Segment {
 public:
  // Reads and verifies everything but the vectors.
  Segment(const std::string& path, const SegmentKind& kind, const SegmentRow& row);
  Segment(const Segment&) = delete;
  ~Segment();
  Segment& operator=(const Segment&) = delete;

  const std::string& path() const { return path_; }
  const SegmentRow& row() const { return row_; }
  int64_t size() const { return row_.rows; }

  // All size() of them. The first call verifies them.
  StoredRows vectors() const;

  // Whether vectors() will be read here and there until the next call. Then the system reads single
  // pages that are not in memory, not also those that follow them.
  void expect_jumps(bool jumps) const { file_.expect_jumps(jumps); }

  // Tells the system that vectors() will not be read again soon.
  void release_vectors() const { file_.release(0, vector_bytes_); }

  // The words of its documents. The first call reads and verifies them.
  const detail::WordFile& words() const;

  VectorKey vector(int64_t i) const { return {keys_[i], contents_[i]}; }
  int64_t key(int64_t i) const { return keys_[i]; }
  int64_t find(int64_t key) const;  // its row (-1: not in this segment)

 private:
  void verify_vectors() const;

  std::string path_;
  SegmentRow row_;
  int64_t dimension_;
  StoredNumber number_;
  MappedFile file_;
  size_t vector_bytes_ = 0;
  const int64_t* keys_ = nullptr;
  const uint64_t* contents_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> verified_{false};
  // Mapped at once, so that it is this index's even when another was put in its place since.
  mutable std::shared_ptr<const MappedFile> words_file_;
  mutable std::unique_ptr<const detail::WordFile> words_;
};

}  // namespace simile
