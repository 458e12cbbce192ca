// SPDX-License-Identifier: Apache-2.0
// A graph of vectors: for each of them some others that are near (HNSW, Malkov and Yashunin 2016,
// arXiv:1603.09320), in a file that never changes.
//
// The file, all numbers little-endian:
//
//   byte 0   16 bytes  "simile graph" and four zeros
//   16       uint32    version of this layout: 1
//   20       uint32    L, the levels above the lowest, at most 64
//   24       int64     n, the number of vectors
//   32       int64     the vector where a search begins
//   40       32 bytes  what the graph belongs to, as text: digits that the caller has for it
//   72       32 bytes  checksum of all behind the header, as text: hash_bytes() (core/hash.h)
//   104      32 bytes  checksum of bytes 0 to 103
//   136      56 zeros
//   192      L int64, the vectors of each level; then n times 32 uint32, the neighbours of each
//            vector; then for each level from the first on its vectors, rising, as uint32, and for
//            each of them 16 uint32, its neighbours there; 0xFFFFFFFF in places without one
//
// graph_build.cpp makes it by hnswlib; graph.cpp writes, reads and searches it. Errors: kInput for
// a file that is damaged or of another index; kIo for one that cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/file.h"
#include "simile/neighbours/exact_search.h"

namespace simile::detail {

constexpr uint32_t kNoNode = 0xFFFFFFFF;
constexpr int64_t kBaseLinks = 32;
constexpr int64_t kUpperLinks = 16;

// Writes a graph to `path`: write_links(put) puts the neighbours of all vectors, then the levels.
// Returns the checksum of its header.
using PutLinks = std::function<void(const uint32_t* values, int64_t count)>;
std::string write_graph(const std::string& path, const std::string& owner, int64_t rows,
                        int64_t entry, const std::vector<int64_t>& level_sizes,
                        const std::function<void(const PutLinks& put)>& write_links);

class GraphFile {
 public:
  // Reads and verifies the header.
  GraphFile(const std::string& path, const std::string& owner, int64_t rows,
            const std::string& checksum);

  // Verifies everything and reads where the levels are. Call it from one thread, before the
  // functions below.
  void read();

  const std::string& path() const { return path_; }
  int64_t rows() const { return rows_; }
  uint32_t entry() const { return entry_; }
  int64_t levels() const { return static_cast<int64_t>(levels_.size()); }
  const uint32_t* links(uint32_t node) const { return base_ + node * kBaseLinks; }
  // The links of a node of level `level`, from 1 on.
  const uint32_t* links(uint32_t node, int64_t level) const;

 private:
  struct Level {
    int64_t size;
    const uint32_t *nodes, *links;
  };
  void check_links(const uint32_t* links, int64_t count, const Level* level) const;

  std::string path_;
  MappedFile file_;
  int64_t rows_;
  uint32_t entry_ = 0;
  const uint32_t* base_ = nullptr;
  std::vector<Level> levels_;
};

// The vectors of segments that follow one another, as one array: part p holds the rows from
// p << shift on; all but the last are full.
struct VectorRows {
  std::vector<StoredRows> parts;
  int shift = 0;
  int64_t count = 0, D = 0;
  VectorMetric metric = VectorMetric::kInnerProduct;
  StoredNumber number = StoredNumber::kFp32;

  const StoredRows& part(int64_t i) const { return parts[i >> shift]; }
  int64_t place(int64_t i) const { return i & ((int64_t{1} << shift) - 1); }
  const char* row(int64_t i) const { return part(i).row(place(i)); }
  void read(int64_t i, float* out) const { part(i).read(place(i), out); }
};

// How many of the vectors are in the graph; may throw, which ends the work.
using BuildProgress = std::function<void(int64_t done, int64_t all)>;

// Writes the graph of `rows` (at least 1) to `path`. Returns the checksum of its header. Each
// vector is kept as bfloat16 while it is built, so it takes 2 D + 280 bytes of memory a vector. The
// same vectors give the same graph with one thread; with more, near vectors may be linked in
// another order, and a few hits of a search may differ.
std::string build_graph(const VectorRows& rows, const std::string& path, const std::string& owner,
                        const BuildProgress& progress);

struct WalkSettings {
  int64_t top_k = 10;
  int64_t breadth = 100;                           // at least top_k
  int64_t most_scored = 0;                         // vectors
  std::function<bool(uint32_t row)> accepts = {};  // which rows may be hits; none: all
  uint32_t without = kNoNode;  // a row that is passed by, as if the graph did not have it
};

// Search by a graph: from its start to nearer and nearer vectors, then through the neighbours of
// the best `breadth` found so far until none of them leads to a better one.
class GraphWalker {
 public:
  // Both must outlive it; the file is read.
  GraphWalker(const GraphFile& graph, const VectorRows& rows);
  ~GraphWalker();

  // The best rows found, as exact_search() orders and scores them, to the bit; nothing if more than
  // most_scored vectors would have to be scored. By several threads at once.
  std::optional<std::vector<Hit>> search(const float* query, const WalkSettings& settings) const;

 private:
  struct Notes;
  class Walk;

  const GraphFile& graph_;
  const VectorRows& rows_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Notes>> free_;
};

}  // namespace simile::detail
