// SPDX-License-Identifier: Apache-2.0
#include "simile/index/segment_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string_view>

#include "simile/core/check.h"
#include "simile/core/detail/file_header.h"
#include "simile/index/detail/word_file.h"

namespace simile {

using detail::bytes_of;
using detail::check_file;
using detail::field_text;
using detail::header_checksum;
using detail::kChecksumDigits;
using detail::read_header;
using detail::set_field;

namespace {

constexpr int64_t kLargestDimension = 1 << 20;

struct SegmentHeader {
  char magic[16] = "simile segment\0";
  uint32_t version = 0;
  uint32_t metric = 0;
  int64_t dimension = 0;
  int64_t rows = 0;
  int64_t number = 0;
  char owner[kChecksumDigits] = {};
  char keys_checksum[kChecksumDigits] = {};
  char vectors_checksum[kChecksumDigits] = {};
  char checksum[kChecksumDigits] = {};
  char zeros[16] = {};
};
static_assert(sizeof(SegmentHeader) == 192, "the header has no gaps");

SegmentHeader make_header(const SegmentKind& kind, int64_t number, int64_t rows) {
  SegmentHeader header;
  header.version = 1 + static_cast<uint32_t>(kind.vectors);
  header.metric = static_cast<uint32_t>(kind.metric);
  header.dimension = kind.dimension;
  header.rows = rows;
  header.number = number;
  set_field(header.owner, kind.owner);
  return header;
}

// Zeros between vectors and keys.
size_t padding_of(size_t vector_bytes) { return (8 - vector_bytes % 8) % 8; }

// Makes sure that a header is that of the segment expected.
void check_header(const std::string& path, const SegmentHeader& found,
                  const SegmentHeader& expected, const std::string& checksum) {
  check_file(
      found.version == expected.version, path,
      fmt::format("its layout is {}, that of this index's is {}", found.version, expected.version));
  check_file(field_text(found.checksum) == checksum && found.rows == expected.rows &&
                 found.number == expected.number,
             path, "it is not the one that documents.sqlite names");
  check_file(found.dimension == expected.dimension && found.metric == expected.metric &&
                 field_text(found.owner) == field_text(expected.owner),
             path, "it belongs to another index");
}

}  // namespace

SegmentWriter::SegmentWriter(const std::string& path, const SegmentKind& kind, int64_t number)
    : kind_(kind), number_(number), file_(path) {
  SIMILE_CHECK(kind.dimension >= 1 && kind.dimension <= kLargestDimension, ErrorKind::kInput,
               "index: dimension {}; expected 1 to {}", kind.dimension, kLargestDimension);
  file_.write(std::string(sizeof(SegmentHeader), '\0'));
}

void SegmentWriter::add(const void* vectors, const VectorKey* keys, int64_t count) {
  const std::string_view bytes(static_cast<const char*>(vectors),
                               static_cast<size_t>(count * kind_.row_bytes()));
  file_.write(bytes);
  vectors_hash_.add(bytes);
  for (int64_t i = 0; i < count; ++i) {
    assert(keys_.empty() || keys[i].key > keys_.back());
    keys_.push_back(keys[i].key);
    contents_.push_back(keys[i].content);
  }
}

SegmentRow SegmentWriter::commit() {
  assert(!keys_.empty());
  SegmentHeader header = make_header(kind_, number_, rows());
  const size_t vector_bytes = keys_.size() * static_cast<size_t>(kind_.row_bytes());
  const std::string padding(padding_of(vector_bytes), '\0');
  Hash128 hash;
  for (const std::string_view part :
       {std::string_view(padding), bytes_of(keys_.data(), keys_.size()),
        bytes_of(contents_.data(), contents_.size())}) {
    file_.write(part);
    hash.add(part);
  }
  set_field(header.keys_checksum, hash.digits());
  set_field(header.vectors_checksum, vectors_hash_.digits());
  set_field(header.checksum, header_checksum(header));
  file_.rewrite_start(bytes_of(&header, 1));
  file_.commit();
  return {number_, keys_.front(), keys_.back(), rows(), std::string(field_text(header.checksum))};
}

Segment::Segment(const std::string& path, const SegmentKind& kind, const SegmentRow& row)
    : path_(path), row_(row), dimension_(kind.dimension), number_(kind.vectors), file_(path) {
  const std::string_view bytes = file_.bytes();
  const auto header = read_header<SegmentHeader>(bytes, path);
  check_header(path, header, make_header(kind, row.number, row.rows), row.checksum);
  vector_bytes_ = static_cast<size_t>(row.rows * kind.row_bytes());
  const size_t keys = sizeof header + vector_bytes_ + padding_of(vector_bytes_);
  const size_t key_bytes = static_cast<size_t>(row.rows) * sizeof(int64_t);
  check_file(bytes.size() == keys + 2 * key_bytes, path,
             fmt::format("it states {} vectors and has {} bytes", row.rows, bytes.size()));
  check_file(
      field_text(header.keys_checksum) == hash_bytes(bytes.substr(sizeof header + vector_bytes_)),
      path, "checksum mismatch in its keys");
  keys_ = reinterpret_cast<const int64_t*>(bytes.data() + keys);
  contents_ = reinterpret_cast<const uint64_t*>(bytes.data() + keys + key_bytes);
  const std::string words = detail::words_path(path);
  if (file_exists(words)) words_file_ = std::make_shared<MappedFile>(words);
}

StoredRows Segment::vectors() const {
  if (!verified_.load(std::memory_order_acquire)) verify_vectors();
  return {file_.bytes().data() + sizeof(SegmentHeader), size(), dimension_, number_};
}

void Segment::verify_vectors() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (verified_.load(std::memory_order_relaxed)) return;
  const std::string_view expected =
      file_.bytes().substr(offsetof(SegmentHeader, vectors_checksum), kChecksumDigits);
  check_file(expected == hash_bytes(file_.bytes().substr(sizeof(SegmentHeader), vector_bytes_)),
             path_, "checksum mismatch in its vectors");
  verified_.store(true, std::memory_order_release);
}

Segment::~Segment() = default;

const detail::WordFile& Segment::words() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (words_ == nullptr) {
    const std::string path = detail::words_path(path_);
    if (words_file_ == nullptr) words_file_ = std::make_shared<MappedFile>(path);
    words_ = std::make_unique<const detail::WordFile>(words_file_, path, row_.checksum, row_.rows);
  }
  return *words_;
}

int64_t Segment::find(int64_t key) const {
  const int64_t* const end = keys_ + size();
  const int64_t* const found = std::lower_bound(keys_, end, key);
  return found != end && *found == key ? found - keys_ : -1;
}

}  // namespace simile
