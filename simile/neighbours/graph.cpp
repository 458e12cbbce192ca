// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/detail/graph.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "simile/core/detail/file_header.h"
#include "simile/core/error.h"
#include "simile/core/hash.h"
#include "simile/neighbours/detail/scan.h"
#include "simile/neighbours/detail/top_rows.h"

namespace simile::detail {
namespace {

constexpr uint32_t kMostLevels = 64;

struct GraphHeader {
  char magic[16] = "simile graph\0\0\0";
  uint32_t version = 1;
  uint32_t levels = 0;
  int64_t rows = 0;
  int64_t entry = 0;
  char owner[kChecksumDigits] = {};
  char contents[kChecksumDigits] = {};
  char checksum[kChecksumDigits] = {};
  char zeros[56] = {};
};
static_assert(sizeof(GraphHeader) == 192, "the header has no gaps");

}  // namespace

std::string write_graph(const std::string& path, const std::string& owner, int64_t rows,
                        int64_t entry, const std::vector<int64_t>& level_sizes,
                        const std::function<void(const PutLinks& put)>& write_links) {
  AtomicFile file(path);
  Hash128 hash;
  const auto write = [&](std::string_view bytes) {
    file.write(bytes);
    hash.add(bytes);
  };
  file.write(std::string(sizeof(GraphHeader), '\0'));
  write(bytes_of(level_sizes.data(), level_sizes.size()));
  write_links([&](const uint32_t* values, int64_t count) {
    write(bytes_of(values, static_cast<size_t>(count)));
  });
  GraphHeader header;
  header.levels = static_cast<uint32_t>(level_sizes.size());
  header.rows = rows;
  header.entry = entry;
  set_field(header.owner, owner);
  set_field(header.contents, hash.digits());
  set_field(header.checksum, header_checksum(header));
  file.rewrite_start(bytes_of(&header, 1));
  file.commit();
  return std::string(field_text(header.checksum));
}

GraphFile::GraphFile(const std::string& path, const std::string& owner, int64_t rows,
                     const std::string& checksum)
    : path_(path), file_(path), rows_(rows) {
  const std::string_view bytes = file_.bytes();
  const auto header = read_header<GraphHeader>(bytes, path);
  check_file(header.version == GraphHeader().version && field_text(header.checksum) == checksum &&
                 field_text(header.owner) == owner && header.rows == rows && header.entry >= 0 &&
                 header.entry < rows && header.levels <= kMostLevels,
             path, "it is not the one that documents.sqlite names");
  entry_ = static_cast<uint32_t>(header.entry);
}

void GraphFile::read() {
  const std::string_view bytes = file_.bytes();
  const auto header = read_header<GraphHeader>(bytes, path_);
  check_file(field_text(header.contents) == hash_bytes(bytes.substr(sizeof header)), path_,
             "checksum mismatch in its links");
  std::vector<int64_t> sizes(header.levels);
  size_t size = sizeof header + sizes.size() * sizeof(int64_t);
  check_file(bytes.size() >= size, path_, "it is too short");
  if (!sizes.empty()) {
    std::memcpy(sizes.data(), bytes.data() + sizeof header, sizes.size() * sizeof(int64_t));
  }
  base_ = reinterpret_cast<const uint32_t*>(bytes.data() + size);
  size += static_cast<size_t>(rows_ * kBaseLinks) * sizeof(uint32_t);
  levels_.clear();
  for (const int64_t count : sizes) {
    check_file(count >= 1 && count <= rows_, path_, "a level has more vectors than there are");
    const auto* const nodes = reinterpret_cast<const uint32_t*>(bytes.data() + size);
    levels_.push_back({count, nodes, nodes + count});
    size += static_cast<size_t>(count * (1 + kUpperLinks)) * sizeof(uint32_t);
  }
  check_file(bytes.size() == size, path_, "it has the wrong size");
  check_links(base_, rows_ * kBaseLinks, nullptr);
  for (const Level& level : levels_) {
    check_file(std::is_sorted(level.nodes, level.nodes + level.size), path_,
               "a level is not in order");
    check_links(level.nodes, level.size, nullptr);
    check_links(level.links, level.size * kUpperLinks, &level);
    check_file(std::binary_search(level.nodes, level.nodes + level.size, entry_), path_,
               "its start is not on all levels");
  }
  file_.expect_jumps(true);
}

void GraphFile::check_links(const uint32_t* links, int64_t count, const Level* level) const {
  for (int64_t i = 0; i < count; ++i) {
    if (links[i] == kNoNode) continue;
    check_file(links[i] < rows_, path_, "a link leads nowhere");
    check_file(
        level == nullptr || std::binary_search(level->nodes, level->nodes + level->size, links[i]),
        path_, "a link leads to another level");
  }
}

const uint32_t* GraphFile::links(uint32_t node, int64_t level) const {
  const Level& of = levels_[level - 1];
  const uint32_t* const place = std::lower_bound(of.nodes, of.nodes + of.size, node);
  return of.links + (place - of.nodes) * kUpperLinks;
}

namespace {

struct Near {
  float score;
  uint32_t node;
};

bool is_nearer(const Near& a, const Near& b) {
  return a.score != b.score ? a.score > b.score : a.node < b.node;
}
bool is_farther(const Near& a, const Near& b) { return is_nearer(b, a); }

void fetch(const void* address, size_t bytes) {
  const char* const begin = static_cast<const char*>(address);
  for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(begin + at);
}

}  // namespace

// Which nodes a walk has seen: marks[node] == mark.
struct GraphWalker::Notes {
  explicit Notes(int64_t rows) : marks(static_cast<size_t>(rows)) {}
  void begin() {
    if (++mark == 0) {
      std::fill(marks.begin(), marks.end(), uint16_t{0});
      mark = 1;
    }
  }
  bool is_new(uint32_t node) { return std::exchange(marks[node], mark) != mark; }

  std::vector<uint16_t> marks;
  uint16_t mark = 0;
  std::vector<Near> open, best;  // heaps: the nearest first, the farthest first
};

class GraphWalker::Walk {
 public:
  Walk(const GraphWalker& walker, const float* query, const WalkSettings& settings, Notes& notes)
      : graph_(walker.graph_),
        rows_(walker.rows_),
        query_(query),
        settings_(settings),
        notes_(notes),
        breadth_(static_cast<size_t>(settings.breadth)) {
    notes_.begin();
    notes_.open.clear();
    notes_.best.clear();
  }

  bool run() {
    const Near start = descend();
    notes_.is_new(start.node);
    if (settings_.without != kNoNode) notes_.is_new(settings_.without);
    offer(start);
    while (!notes_.open.empty()) {
      const Near next = notes_.open.front();
      if (is_full() && next.score < notes_.best.front().score) break;
      std::pop_heap(notes_.open.begin(), notes_.open.end(), is_farther);
      notes_.open.pop_back();
      gather(graph_.links(next.node));
      if ((scored_ += count_) > settings_.most_scored) return false;
      score();
      for (int64_t i = 0; i < count_; ++i) {
        if (!is_full() || scores_[i] > notes_.best.front().score) offer({scores_[i], nodes_[i]});
      }
      if (!notes_.open.empty()) fetch(graph_.links(notes_.open.front().node), 128);
    }
    return true;
  }

  std::vector<Hit> hits() {
    std::vector<Near>& best = notes_.best;
    std::sort(best.begin(), best.end(), is_nearer);
    if (static_cast<int64_t>(best.size()) > settings_.top_k) best.resize(settings_.top_k);
    std::vector<Hit> hits;
    for (const Near& near : best) hits.push_back({near.node, near.score});
    return hits;
  }

 private:
  bool is_full() const { return notes_.best.size() >= breadth_; }

  // The nearest vector that the upper levels lead to.
  Near descend() {
    nodes_[0] = graph_.entry();
    count_ = 1;
    score();
    Near at{scores_[0], nodes_[0]};
    for (int64_t level = graph_.levels(); level > 0; --level) {
      for (bool moved = true; std::exchange(moved, false);) {
        const uint32_t* const links = graph_.links(at.node, level);
        count_ = std::find(links, links + kUpperLinks, kNoNode) - links;
        std::copy_n(links, count_, nodes_);
        score();
        for (int64_t i = 0; i < count_; ++i) {
          if (!(scores_[i] > at.score) || nodes_[i] == settings_.without) continue;
          at = {scores_[i], nodes_[i]};
          moved = true;
        }
      }
    }
    return at;
  }

  // Takes the neighbours that were not seen.
  void gather(const uint32_t* links) {
    count_ = 0;
    for (int64_t i = 0; i < kBaseLinks && links[i] != kNoNode; ++i) {
      if (notes_.is_new(links[i])) nodes_[count_++] = links[i];
    }
  }

  void score() {
    const char* vectors[kBaseLinks];
    const auto bytes = static_cast<size_t>(stored_bytes(rows_.number, rows_.D));
    for (int64_t i = 0; i < count_; ++i) {
      vectors[i] = rows_.row(nodes_[i]);
      fetch(vectors[i], std::min<size_t>(bytes, 256));
    }
    scan_kernels().few(query_, vectors, count_, rows_.D, rows_.metric, rows_.number, scores_);
  }

  void offer(const Near& near) {
    notes_.open.push_back(near);
    std::push_heap(notes_.open.begin(), notes_.open.end(), is_farther);
    if (settings_.accepts && !settings_.accepts(near.node)) return;
    std::vector<Near>& best = notes_.best;
    best.push_back(near);
    std::push_heap(best.begin(), best.end(), is_nearer);
    if (best.size() <= breadth_) return;
    std::pop_heap(best.begin(), best.end(), is_nearer);
    best.pop_back();
  }

  const GraphFile& graph_;
  const VectorRows& rows_;
  const float* query_;
  const WalkSettings& settings_;
  Notes& notes_;
  size_t breadth_;
  int64_t count_ = 0, scored_ = 0;
  uint32_t nodes_[kBaseLinks];
  float scores_[kBaseLinks];
};

GraphWalker::GraphWalker(const GraphFile& graph, const VectorRows& rows)
    : graph_(graph), rows_(rows) {}
GraphWalker::~GraphWalker() = default;

std::optional<std::vector<Hit>> GraphWalker::search(const float* query,
                                                    const WalkSettings& settings) const {
  std::unique_ptr<Notes> notes;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      notes = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!notes) notes = std::make_unique<Notes>(rows_.count);
  Walk walk(*this, query, settings, *notes);
  std::optional<std::vector<Hit>> hits;
  if (walk.run()) hits = walk.hits();
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(notes));
  return hits;
}

}  // namespace simile::detail
