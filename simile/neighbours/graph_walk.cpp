// SPDX-License-Identifier: Apache-2.0
#include "simile/neighbours/detail/graph_walk.h"

#include <algorithm>
#include <utility>

#include "simile/neighbours/detail/scan.h"
#include "simile/neighbours/detail/top_rows.h"

namespace simile::detail {
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
    if (static_cast<int64_t>(best.size()) > settings_.top_k) {
      best.resize(static_cast<size_t>(settings_.top_k));
    }
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

  // Those of the neighbours that were not seen.
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
    score_rows(query_, vectors, count_, rows_.D, rows_.metric, rows_.number, scores_);
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

std::unique_ptr<GraphWalker::Notes> GraphWalker::take_notes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) return std::make_unique<Notes>(rows_.count);
  std::unique_ptr<Notes> notes = std::move(free_.back());
  free_.pop_back();
  return notes;
}

std::optional<std::vector<Hit>> GraphWalker::search(const float* query,
                                                    const WalkSettings& settings) const {
  std::unique_ptr<Notes> notes = take_notes();
  Walk walk(*this, query, settings, *notes);
  std::optional<std::vector<Hit>> hits;
  if (walk.run()) hits = walk.hits();
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(notes));
  return hits;
}

}  // namespace simile::detail
