// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/vector_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <utility>

#include "simile/core/detail/file_header.h"
#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"

namespace simile::detail {
namespace {

struct LogHeader {
  char magic[16] = "simile vectors\0";
  uint32_t version = 1;
  uint32_t zeros = 0;
  int64_t dimension = 0;
  char owner[kChecksumDigits] = {};
  char checksum[kChecksumDigits] = {};
};
static_assert(sizeof(LogHeader) == 96, "the header has no gaps");

struct BlockHeader {
  int64_t rows = 0;
  char documents[kChecksumDigits] = {};
  char vectors[kChecksumDigits] = {};
  char checksum[kChecksumDigits] = {};
};
static_assert(sizeof(BlockHeader) == 104, "the header has no gaps");

LogHeader log_header(const std::string& owner, int64_t D) {
  LogHeader header;
  header.dimension = D;
  set_field(header.owner, owner);
  set_field(header.checksum, header_checksum(header));
  return header;
}

int64_t block_bytes(int64_t rows, int64_t D) {
  const int64_t bytes = stored_bytes(StoredNumber::kFp32, D) * rows;
  return static_cast<int64_t>(sizeof(BlockHeader)) + (bytes + 7) / 8 * 8;
}

// Of all that the vectors are of.
std::string digest_of(const std::vector<Document>& documents) {
  Hash128 hash;
  const auto add = [&](std::string_view text) {
    hash.add(fmt::format("{} ", text.size()));
    hash.add(text);
  };
  for (const Document& document : documents) {
    add(document.id);
    add(document.text);
    add(document.metadata);
    for (const Passage& passage : document.passages) {
      hash.add(fmt::format("{}-{} ", passage.begin, passage.end));
    }
  }
  return hash.digits();
}

}  // namespace

VectorLog::VectorLog(std::string path, std::string owner, int64_t D, bool resumes)
    : path_(std::move(path)), owner_(std::move(owner)), D_(D) {
  if (resumes && file_exists(path_)) {
    read_kept();
  } else {
    std::remove(path_.c_str());
  }
}

VectorLog::~VectorLog() {
  if (file_ != nullptr) std::fclose(file_);
}

void VectorLog::read_kept() {
  const MappedFile file(path_);
  const std::string_view bytes = file.bytes();
  const LogHeader expected = log_header(owner_, D_);
  if (bytes.size() < sizeof expected) return;  // killed while it was made
  const auto found = read_header<LogHeader>(bytes);
  SIMILE_CHECK(field_text(found.magic) == field_text(expected.magic) &&
                   field_text(found.checksum) == header_checksum(found),
               ErrorKind::kUsage,
               fmt::format("'{}' is not of an index build that was interrupted, or is damaged; "
                           "remove it",
                           path_));
  SIMILE_CHECK(
      bytes_of(&found, 1) == bytes_of(&expected, 1), ErrorKind::kInput,
      fmt::format("'{}': the build that was interrupted had another model or other "
                  "options; go on with those, or build with --overwrite instead of --resume",
                  path_));
  auto at = static_cast<int64_t>(sizeof found);
  const auto size = static_cast<int64_t>(bytes.size());
  while (size - at >= static_cast<int64_t>(sizeof(BlockHeader))) {
    const std::string_view rest = bytes.substr(static_cast<size_t>(at));
    const auto block = read_header<BlockHeader>(rest);
    if (field_text(block.checksum) != header_checksum(block)) break;
    const int64_t end = at + block_bytes(block.rows, D_);
    if (end > size) break;
    const auto vectors = static_cast<size_t>(block.rows * stored_bytes(StoredNumber::kFp32, D_));
    if (field_text(block.vectors) != hash_bytes(rest.substr(sizeof block, vectors))) break;
    file.release(static_cast<size_t>(at), static_cast<size_t>(end - at));
    blocks_.push_back({at + static_cast<int64_t>(sizeof block), block.rows,
                       std::string(field_text(block.documents))});
    at = end;
  }
  size_ = at;
}

bool VectorLog::is_next(const std::vector<Document>& documents) const {
  return blocks_[taken_].documents == digest_of(documents);
}

bool VectorLog::pass(const std::vector<Document>& documents) {
  if (is_taken() || !is_next(documents)) return false;
  ++taken_;
  return true;
}

void VectorLog::check_next(const std::vector<Document>& documents) const {
  SIMILE_CHECK(
      is_next(documents), ErrorKind::kInput,
      fmt::format("document \"{}\", or one of the {} from it on, is another than when the "
                  "build began that was interrupted; build with --overwrite instead of --resume",
                  documents.empty() ? "" : documents[0].id, documents.size()));
}

void VectorLog::check_all_taken() const {
  SIMILE_CHECK(is_taken(), ErrorKind::kInput,
               "there are fewer documents than when the build began that was interrupted; build "
               "with --overwrite instead of --resume");
}

void VectorLog::add(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  if (is_taken()) {
    append(documents, vectors);
  } else {
    check_next(documents);
    ++taken_;
  }
}

std::optional<Matrix<float>> VectorLog::peek(const std::vector<Document>& documents) const {
  if (is_taken()) return std::nullopt;
  check_next(documents);
  const Place& place = blocks_[taken_];
  Matrix<float> vectors(place.rows, D_);
  std::FILE* const file = std::fopen(path_.c_str(), "rb");
  const size_t count = vectors.values.size();
  const bool read = file != nullptr && std::fseek(file, place.offset, SEEK_SET) == 0 &&
                    std::fread(vectors.values.data(), sizeof(float), count, file) == count;
  if (file != nullptr) std::fclose(file);
  SIMILE_CHECK(read, ErrorKind::kIo, fmt::format("cannot read '{}'", path_));
  return vectors;
}

// What is behind the last whole block goes.
void VectorLog::open() {
  if (size_ == 0) {
    file_ = std::fopen(path_.c_str(), "wb");
    if (file_ != nullptr) {
      size_ = sizeof(LogHeader);
      const LogHeader header = log_header(owner_, D_);
      write(bytes_of(&header, 1));
    }
  } else {
    file_ = ::truncate(path_.c_str(), size_) == 0 ? std::fopen(path_.c_str(), "ab") : nullptr;
  }
  SIMILE_CHECK(file_ != nullptr, ErrorKind::kIo,
               fmt::format("cannot write '{}': {}", path_, std::generic_category().message(errno)));
}

void VectorLog::write(std::string_view bytes) {
  SIMILE_CHECK(std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size(), ErrorKind::kIo,
               fmt::format("cannot write '{}': {}", path_, std::generic_category().message(errno)));
}

void VectorLog::append(const std::vector<Document>& documents, const Matrix<float>& vectors) {
  assert(is_taken());
  if (file_ == nullptr) open();
  const std::string_view values = bytes_of(vectors.values.data(), vectors.values.size());
  BlockHeader header;
  header.rows = vectors.rows;
  set_field(header.documents, digest_of(documents));
  set_field(header.vectors, hash_bytes(values));
  set_field(header.checksum, header_checksum(header));
  write(bytes_of(&header, 1));
  write(values);
  write(std::string(values.size() % 8, '\0'));
  SIMILE_CHECK(std::fflush(file_) == 0, ErrorKind::kIo,
               fmt::format("cannot write '{}': {}", path_, std::generic_category().message(errno)));
  blocks_.push_back({size_ + static_cast<int64_t>(sizeof header), header.rows,
                     std::string(field_text(header.documents))});
  taken_ = blocks_.size();
  size_ += block_bytes(header.rows, D_);
}

VectorLog::Reader::Reader(const VectorLog& log) : file_(log.path_) {
  int64_t first = 0;
  for (const Place& place : log.blocks_) {
    blocks_.push_back({{file_.bytes().data() + place.offset, place.rows, log.D_}, first});
    first += place.rows;
  }
}

void VectorLog::Reader::read(int64_t row, float* out) const {
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), row,
                       [](int64_t wanted, const Block& block) { return wanted < block.first; });
  const Block& block = *std::prev(after);
  block.rows.read(row - block.first, out);
}

void VectorLog::Reader::release(const Block& block) const {
  file_.release(
      static_cast<size_t>(block.rows.bytes - file_.bytes().data()),
      static_cast<size_t>(block.rows.count * stored_bytes(StoredNumber::kFp32, block.rows.D)));
}

}  // namespace simile::detail
