// SPDX-License-Identifier: Apache-2.0
#include "simile/index/vector_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/hash.h"

namespace simile {
namespace {

constexpr int64_t kLargestDimension = 1 << 20;

struct FileHeader {
  char magic[16] = "simile vectors\0";
  uint32_t version = 2;
  uint32_t metric = 0;
  int64_t dimension = 0;
  int64_t count = 0;
  char owner[32] = {};
};
constexpr size_t kChecksum = 32;
static_assert(sizeof(FileHeader) == 72, "the header has no gaps");

template <typename T>
std::string_view bytes_of(const T* values, size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(T)};
}

FileHeader make_header(int64_t dimension, VectorMetric metric, const std::string& owner) {
  FileHeader header;
  header.metric = static_cast<uint32_t>(metric);
  header.dimension = dimension;
  assert(owner.size() == sizeof header.owner);
  owner.copy(header.owner, sizeof header.owner);
  return header;
}

// Makes sure that the file is whole and that its sizes fit it; returns how many vectors it has.
int64_t check_file(const std::string& path, std::string_view bytes, const FileHeader& expected) {
  const auto check = [&](bool good, const std::string& what) {
    SIMILE_CHECK(good, ErrorKind::kInput,
                 fmt::format("'{}' is damaged or not a vector file of this index: {}; build the "
                             "index again",
                             path, what));
  };
  check(bytes.size() >= sizeof(FileHeader) + kChecksum, fmt::format("{} bytes", bytes.size()));
  FileHeader found;
  std::memcpy(&found, bytes.data(), sizeof found);
  check(bytes_of(found.magic, sizeof found.magic) == bytes_of(expected.magic, sizeof found.magic),
        "its type is another");
  check(found.version == expected.version,
        fmt::format("its layout is {}, this program reads {}", found.version, expected.version));
  check(found.metric == expected.metric, "its metric is another");
  check(found.dimension == expected.dimension,
        fmt::format("its dimension is {}, expected {}", found.dimension, expected.dimension));
  const int64_t each = 4 * found.dimension + 16;
  const auto rest = static_cast<int64_t>(bytes.size() - sizeof found - kChecksum);
  check(found.count >= 0 && found.count <= rest / each && found.count * each == rest,
        fmt::format("it states {} vectors and has {} bytes", found.count, bytes.size()));
  Hash128 hash;
  hash.add(bytes.substr(0, sizeof found));
  hash.add(bytes.substr(sizeof found + kChecksum));
  check(bytes.substr(sizeof found, kChecksum) == hash.digits(), "its checksum is another");
  check(bytes_of(found.owner, sizeof found.owner) == bytes_of(expected.owner, sizeof found.owner),
        "it belongs to another index, or to an earlier state of this one");
  return found.count;
}

}  // namespace

VectorIndex::VectorIndex(int64_t dimension, VectorMetric metric)
    : dimension_(dimension), metric_(metric) {
  SIMILE_CHECK(
      dimension >= 1 && dimension <= kLargestDimension, ErrorKind::kInput,
      fmt::format("vector index: dimension {}; expected 1 to {}", dimension, kLargestDimension));
}

void VectorIndex::add(const Matrix<float>& vectors, const std::vector<VectorKey>& keys) {
  SIMILE_CHECK(
      vectors.cols == dimension() || vectors.rows == 0, ErrorKind::kInput,
      fmt::format("vector index: vectors of size {}, expected {}", vectors.cols, dimension()));
  SIMILE_CHECK(vectors.rows == static_cast<int64_t>(keys.size()), ErrorKind::kInput,
               fmt::format("vector index: {} vectors and {} keys", vectors.rows, keys.size()));
  vectors_.insert(vectors_.end(), vectors.values.begin(), vectors.values.end());
  for (const VectorKey& key : keys) {
    keys_.push_back(key.key);
    contents_.push_back(key.content);
  }
}

int64_t VectorIndex::remove(const std::vector<int64_t>& keys) {
  const std::unordered_set<int64_t> removed(keys.begin(), keys.end());
  const auto D = static_cast<size_t>(dimension_);
  size_t kept = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (removed.count(keys_[i]) > 0) continue;
    if (kept != i) {
      keys_[kept] = keys_[i];
      contents_[kept] = contents_[i];
      std::copy_n(vectors_.data() + i * D, D, vectors_.data() + kept * D);
    }
    ++kept;
  }
  const size_t before = keys_.size();
  keys_.resize(kept);
  contents_.resize(kept);
  vectors_.resize(kept * D);
  return static_cast<int64_t>(before - kept);
}

VectorKey VectorIndex::vector(int64_t i) const {
  return {keys_[static_cast<size_t>(i)], contents_[static_cast<size_t>(i)]};
}

std::vector<std::vector<VectorHit>> VectorIndex::search(const Matrix<float>& queries,
                                                        int64_t top_k) const {
  SIMILE_CHECK(
      queries.cols == dimension() || queries.rows == 0, ErrorKind::kInput,
      fmt::format("vector index: queries of size {}, expected {}", queries.cols, dimension()));
  std::vector<std::vector<VectorHit>> results;
  for (const std::vector<Hit>& hits : exact_search(vectors_.data(), size(), queries.values.data(),
                                                   queries.rows, dimension(), top_k, metric())) {
    std::vector<VectorHit> found;
    for (const Hit& hit : hits) found.push_back({vector(hit.id), hit.score});
    results.push_back(std::move(found));
  }
  return results;
}

void VectorIndex::save(const std::string& path, const std::string& owner) const {
  FileHeader header = make_header(dimension_, metric_, owner);
  header.count = size();
  const std::string_view parts[] = {
      bytes_of(&header, 1), bytes_of(vectors_.data(), vectors_.size()),
      bytes_of(keys_.data(), keys_.size()), bytes_of(contents_.data(), contents_.size())};
  Hash128 hash;
  for (const std::string_view part : parts) hash.add(part);
  AtomicFile file(path);
  file.write(parts[0]);
  file.write(hash.digits());
  for (size_t i = 1; i < std::size(parts); ++i) file.write(parts[i]);
  file.commit();
}

VectorIndex VectorIndex::load(const std::string& path, int64_t dimension, VectorMetric metric,
                              const std::string& owner) {
  VectorIndex index(dimension, metric);
  const FileHeader expected = make_header(dimension, metric, owner);
  const MappedFile file(path);
  const int64_t count = check_file(path, file.bytes(), expected);
  std::string_view rest = file.bytes().substr(sizeof expected + kChecksum);
  const auto take = [&rest](auto& values, int64_t size) {
    values.resize(static_cast<size_t>(size));
    const size_t bytes = values.size() * sizeof values[0];
    std::copy_n(rest.data(), bytes, reinterpret_cast<char*>(values.data()));
    rest.remove_prefix(bytes);
  };
  take(index.vectors_, count * dimension);
  take(index.keys_, count);
  take(index.contents_, count);
  return index;
}

}  // namespace simile
