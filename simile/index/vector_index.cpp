// SPDX-License-Identifier: Apache-2.0
#include "simile/index/vector_index.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexIDMap.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>
#include <fmt/format.h>

#include <cstring>

#include "simile/core/error.h"
#include "simile/core/file.h"

namespace simile {
namespace {

faiss::MetricType faiss_metric(VectorMetric metric) {
  return metric == VectorMetric::kInnerProduct ? faiss::METRIC_INNER_PRODUCT : faiss::METRIC_L2;
}

// Runs `work`, turning Faiss's exception into ours.
template <typename Work>
auto translate(ErrorKind kind, const std::string& what, const Work& work) {
  try {
    return work();
  } catch (const faiss::FaissException& error) {
    throw Error(kind, fmt::format("{}: {}", what, error.what()));
  }
}

class AtomicWriter : public faiss::IOWriter {
 public:
  explicit AtomicWriter(const std::string& path) : file_(path) {}
  size_t operator()(const void* data, size_t size, size_t count) override {
    file_.write({static_cast<const char*>(data), size * count});
    return count;
  }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
};

template <typename T>
T value_at(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The layout of an IndexIDMap over an IndexFlat: "IxMp" header(33) "IxFI" header(33) count(8)
// floats count(8) keys, a header being int32 dimension, int64 rows, two int64, a byte, int32
// metric.
constexpr size_t kHeader = 33;
constexpr size_t kInner = 4 + kHeader;
constexpr size_t kFloats = 2 * (4 + kHeader) + 8;

// Faiss trusts the sizes a file states; this makes sure that they fit the file and each other.
void check_file(const std::string& path, int64_t dimension, VectorMetric metric) {
  const MappedFile file(path);
  const std::string_view bytes = file.bytes();
  const auto check = [&](bool good, const std::string& what) {
    SIMILE_CHECK(good, ErrorKind::kInput,
                 fmt::format("{}: damaged or not a vector file of this index: {}", path, what));
  };
  check(bytes.size() >= kFloats + 8, fmt::format("it has {} bytes", bytes.size()));
  const bool product = metric == VectorMetric::kInnerProduct;
  check(bytes.substr(0, 4) == "IxMp" && bytes.substr(kInner, 4) == (product ? "IxFI" : "IxF2"),
        "its type is another");
  const auto rows = value_at<int64_t>(bytes, 8);
  const auto most = static_cast<int64_t>(bytes.size()) / (4 * dimension + 8);
  check(rows >= 0 && rows <= most, fmt::format("it states {} vectors", rows));
  for (const size_t header : {size_t{4}, kInner + 4}) {
    check(value_at<int32_t>(bytes, header) == dimension,
          fmt::format("its dimension is {}, expected {}", value_at<int32_t>(bytes, header),
                      dimension));
    check(value_at<int64_t>(bytes, header + 4) == rows, "its two parts differ in size");
    check(bytes[header + 28] == 1, "it is not trained");
    check(value_at<int32_t>(bytes, header + 29) == faiss_metric(metric), "its metric is another");
  }
  const auto floats = static_cast<size_t>(rows * dimension);
  const size_t expected = kFloats + 4 * floats + 8 + 8 * static_cast<size_t>(rows);
  check(bytes.size() == expected,
        fmt::format("{} vectors of size {} need {} bytes, the file has {}", rows, dimension,
                    expected, bytes.size()));
  check(value_at<uint64_t>(bytes, kFloats - 8) == floats &&
            value_at<uint64_t>(bytes, kFloats + 4 * floats) == static_cast<uint64_t>(rows),
        "its counts differ");
}

}  // namespace

struct VectorIndex::Storage {
  std::unique_ptr<faiss::IndexIDMap> map;
  std::unique_ptr<faiss::IndexFlat> flat;  // map's, kept apart because IndexIDMap owns none here
  VectorMetric metric;
};

VectorIndex::VectorIndex(int64_t dimension, VectorMetric metric)
    : storage_(std::make_unique<Storage>()) {
  SIMILE_CHECK(dimension >= 1 && dimension <= (1 << 20), ErrorKind::kInput,
               fmt::format("vector index: dimension {}; expected 1 to 1048576", dimension));
  storage_->metric = metric;
  storage_->flat = std::make_unique<faiss::IndexFlat>(dimension, faiss_metric(metric));
  storage_->map = std::make_unique<faiss::IndexIDMap>(storage_->flat.get());
}

VectorIndex::VectorIndex(VectorIndex&&) noexcept = default;
VectorIndex& VectorIndex::operator=(VectorIndex&&) noexcept = default;
VectorIndex::~VectorIndex() = default;

void VectorIndex::add(const Matrix<float>& vectors, const std::vector<int64_t>& keys) {
  SIMILE_CHECK(
      vectors.cols == dimension() || vectors.rows == 0, ErrorKind::kInput,
      fmt::format("vector index: vectors of size {}, expected {}", vectors.cols, dimension()));
  SIMILE_CHECK(vectors.rows == static_cast<int64_t>(keys.size()), ErrorKind::kInput,
               fmt::format("vector index: {} vectors and {} keys", vectors.rows, keys.size()));
  if (keys.empty()) return;
  translate(ErrorKind::kFailed, "vector index: adding",
            [&] { storage_->map->add_with_ids(vectors.rows, vectors.values.data(), keys.data()); });
}

int64_t VectorIndex::remove(const std::vector<int64_t>& keys) {
  return translate(ErrorKind::kFailed, "vector index: removing", [&] {
    const faiss::IDSelectorBatch selector(keys.size(), keys.data());
    return static_cast<int64_t>(storage_->map->remove_ids(selector));
  });
}

std::vector<std::vector<Hit>> VectorIndex::search(const Matrix<float>& queries,
                                                  int64_t top_k) const {
  SIMILE_CHECK(
      queries.cols == dimension() || queries.rows == 0, ErrorKind::kInput,
      fmt::format("vector index: queries of size {}, expected {}", queries.cols, dimension()));
  std::vector<std::vector<Hit>> results =
      exact_search(storage_->flat->get_xb(), size(), queries.values.data(), queries.rows,
                   dimension(), top_k, metric());
  for (std::vector<Hit>& hits : results) {
    for (Hit& hit : hits) hit.id = storage_->map->id_map[static_cast<size_t>(hit.id)];
  }
  return results;
}

int64_t VectorIndex::size() const { return storage_->flat->ntotal; }
int64_t VectorIndex::dimension() const { return storage_->flat->d; }
VectorMetric VectorIndex::metric() const { return storage_->metric; }

void VectorIndex::save(const std::string& path) const {
  translate(ErrorKind::kIo, path, [&] {
    AtomicWriter writer(path);
    faiss::write_index(storage_->map.get(), &writer);
    writer.commit();
  });
}

VectorIndex VectorIndex::load(const std::string& path, int64_t dimension, VectorMetric metric) {
  VectorIndex index(dimension, metric);
  check_file(path, dimension, metric);
  translate(ErrorKind::kInput, path, [&] {
    std::unique_ptr<faiss::Index> read(faiss::read_index(path.c_str()));
    auto* map = dynamic_cast<faiss::IndexIDMap*>(read.get());
    auto* flat = map == nullptr ? nullptr : dynamic_cast<faiss::IndexFlat*>(map->index);
    SIMILE_CHECK(flat != nullptr, ErrorKind::kInput,
                 fmt::format("{}: not a vector file of this index", path));
    map->own_fields = false;
    read.release();
    index.storage_->map.reset(map);
    index.storage_->flat.reset(flat);
  });
  return index;
}

}  // namespace simile
