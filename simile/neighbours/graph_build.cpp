// SPDX-License-Identifier: Apache-2.0
// Without hnswlib's own vector code: its prefetches read past the end of lists, and distances come
// from this module's scan. Under another name, so that a program that has hnswlib compiled with
// other settings does not mix both.
#define NO_MANUAL_VECTORIZATION
#define hnswlib simile_hnswlib
#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/memory.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/neighbours/detail/graph.h"
#include "simile/neighbours/detail/scan.h"

namespace simile::detail {
namespace {

constexpr size_t kBuildBreadth = 100;
constexpr int64_t kPiece = 16384;  // vectors between two calls of progress()
constexpr int64_t kTogether = 32;  // vectors that a thread takes at a time

using Hnsw = hnswlib::HierarchicalNSW<float>;

// Vectors of bfloat16. Their size aligns hnswlib's labels and lists to 8 bytes.
struct ShortSpace : public hnswlib::SpaceInterface<float> {
  const int64_t D;
  const VectorMetric metric;

  explicit ShortSpace(const VectorRows& rows) : D(rows.D), metric(rows.metric) {}
  size_t get_data_size() override { return (static_cast<size_t>(D) * 2 + 3) / 8 * 8 + 4; }
  hnswlib::DISTFUNC<float> get_dist_func() override {
    return [](const void* a, const void* b, const void* of) {
      const auto* const space = static_cast<const ShortSpace*>(of);
      return -scan_kernels().halves(static_cast<const uint16_t*>(a),
                                    static_cast<const uint16_t*>(b), space->D, space->metric);
    };
  }
  void* get_dist_func_param() override { return this; }
};

// Rounds to the nearest.
uint16_t shorten(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits += 0x7FFF + (bits >> 16 & 1);
  return static_cast<uint16_t>(bits >> 16);
}

// The level of a vector depends on its number alone.
int level_of(int64_t row) {
  RandomStream random(static_cast<uint64_t>(row), "graph level");
  const double share = 1 - random.uniform();  // above 0
  return static_cast<int>(-std::log(share) / std::log(static_cast<double>(kUpperLinks)));
}

// One thread has one.
class RowInserter {
 public:
  RowInserter(Hnsw& graph, const VectorRows& rows, size_t data_size)
      : graph_(graph), rows_(rows), row_(static_cast<size_t>(rows.D)), space_(data_size / 2) {}

  void insert(int64_t i) {
    rows_.read(i, row_.data());
    std::transform(row_.begin(), row_.end(), space_.begin(), shorten);
    graph_.addPoint(space_.data(), static_cast<size_t>(i), level_of(i));
  }

 private:
  Hnsw& graph_;
  const VectorRows& rows_;
  std::vector<float> row_;
  std::vector<uint16_t> space_;
};

void insert_all(Hnsw& graph, const VectorRows& rows, size_t data_size,
                const BuildProgress& progress) {
  // The first alone: all others begin at it.
  RowInserter(graph, rows, data_size).insert(0);
  for (int64_t begin = 1; begin < rows.count; begin += kPiece) {
    progress(begin, rows.count);
    const int64_t count = std::min(kPiece, rows.count - begin);
    run_parallel_blocks(count, kTogether, [&](int64_t from, int64_t to) {
      RowInserter inserter(graph, rows, data_size);
      for (int64_t i = begin + from; i < begin + to; ++i) inserter.insert(i);
    });
  }
}

// Hands out what hnswlib made, by the numbers of the rows.
class GraphReader {
 public:
  explicit GraphReader(const Hnsw& graph)
      : graph_(graph),
        rows_(graph.cur_element_count),
        ids_(graph.cur_element_count),
        levels_(static_cast<size_t>(graph.maxlevel_)) {
    for (uint32_t id = 0; id < rows_.size(); ++id) {
      rows_[id] = static_cast<uint32_t>(graph.getExternalLabel(id));
      ids_[rows_[id]] = id;
    }
    for (uint32_t row = 0; row < ids_.size(); ++row) {
      const auto level = static_cast<size_t>(graph.element_levels_[ids_[row]]);
      for (size_t l = 0; l < level; ++l) levels_[l].push_back(row);
    }
  }

  int64_t entry() const { return rows_[graph_.enterpoint_node_]; }

  std::vector<int64_t> level_sizes() const {
    std::vector<int64_t> sizes;
    for (const auto& nodes : levels_) sizes.push_back(static_cast<int64_t>(nodes.size()));
    return sizes;
  }

  void write(const PutLinks& out) const {
    std::vector<uint32_t> links;
    for (const uint32_t id : ids_) {
      put_links(id, 0, kBaseLinks, links);
      if (links.size() >= (size_t{1} << 16)) flush(links, out);
    }
    flush(links, out);
    for (size_t l = 0; l < levels_.size(); ++l) {
      out(levels_[l].data(), static_cast<int64_t>(levels_[l].size()));
      for (const uint32_t row : levels_[l]) {
        put_links(ids_[row], static_cast<int>(l) + 1, kUpperLinks, links);
      }
      flush(links, out);
    }
  }

 private:
  void put_links(uint32_t id, int level, int64_t most, std::vector<uint32_t>& links) const {
    hnswlib::linklistsizeint* const list = graph_.get_linklist_at_level(id, level);
    const size_t count = graph_.getListCount(list);
    for (size_t i = 0; i < static_cast<size_t>(most); ++i) {
      links.push_back(i < count ? rows_[list[i + 1]] : kNoNode);
    }
  }

  static void flush(std::vector<uint32_t>& links, const PutLinks& out) {
    out(links.data(), static_cast<int64_t>(links.size()));
    links.clear();
  }

  const Hnsw& graph_;
  std::vector<uint32_t> rows_, ids_;           // of each other
  std::vector<std::vector<uint32_t>> levels_;  // from the first on
};

}  // namespace

std::string build_graph(const VectorRows& rows, const std::string& path, const std::string& owner,
                        const BuildProgress& progress) {
  SIMILE_CHECK(rows.count < kNoNode, ErrorKind::kInput,
               "'{}': a graph of {} vectors; it holds fewer than {}; use --approximate never", path,
               rows.count, kNoNode);
  try {
    ShortSpace space(rows);
    Hnsw graph(&space, static_cast<size_t>(rows.count), kUpperLinks, kBuildBreadth);
    prefer_large_pages(graph.data_level0_memory_,
                       graph.size_data_per_element_ * static_cast<size_t>(rows.count));
    graph.mult_ = 1e-9;  // so that it draws no levels of its own where ours is 0
    insert_all(graph, rows, space.get_data_size(), progress);
    const GraphReader reader(graph);
    return write_graph(path, owner, rows.count, reader.entry(), reader.level_sizes(),
                       [&](const PutLinks& out) { reader.write(out); });
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw_error(ErrorKind::kFailed,
                "'{}': no graph of {} vectors: {}; use --approximate never to search without one",
                path, rows.count, error.what());
  }
}

}  // namespace simile::detail
