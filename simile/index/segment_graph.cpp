// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/segment_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "simile/core/hash.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/segment_set.h"
#include "simile/neighbours/detail/top_rows.h"

namespace simile::detail {

std::string graph_owner(const IndexedModel& model, int64_t number, const Segments& segments) {
  std::string text = "graph " + segment_kind(model, number).owner;
  for (const auto& segment : segments) {
    text += fmt::format("\n{} {}", segment->row().number, segment->row().checksum);
  }
  return hash_bytes(text);
}

VectorRows rows_of(const Segments& segments, const IndexedModel& model) {
  VectorRows rows;
  rows.shift = kGraphShift;
  rows.D = model.dimension;
  rows.metric = model.metric;
  rows.number = model.vectors;
  for (const auto& segment : segments) {
    rows.parts.push_back(segment->vectors());
    rows.count += segment->size();
  }
  return rows;
}

SegmentGraph::SegmentGraph(const std::string& path, const IndexedModel& model, const GraphRow& row,
                           Segments segments)
    : row_(row),
      model_(model),
      segments_(std::move(segments)),
      file_(path, graph_owner(model, row.number, segments_), row.rows, row.checksum) {}

const GraphWalker& SegmentGraph::walker() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (walker_ == nullptr) {
    file_.read();
    rows_ = rows_of(segments_, model_);
    walker_ = std::make_unique<const GraphWalker>(file_, rows_);
  }
  return *walker_;
}

namespace {

constexpr int64_t kSample = 1000;
constexpr int64_t kSearches = 100;  // between two calls of progress()
constexpr int64_t kBreadths[] = {10,  16,  24,  32,  48,  64,   96,   128,
                                 192, 256, 384, 512, 768, 1024, 1536, 2048};

bool has_shape(const std::vector<SegmentRow>& segments) {
  return std::all_of(segments.begin(), segments.end(), [&](const SegmentRow& row) {
    return row.rows == kFullSegment || (&row == &segments.back() && row.rows < kFullSegment);
  });
}

struct Recall {
  double mean = 0, low = 0;  // the latter less twice the standard error
  int64_t of_10000() const { return static_cast<int64_t>(std::floor(1e4 * mean)); }
};

// Searches for the neighbours of vectors of the index, as if each was not in it. Vectors that were
// read are released again, so that building keeps in bounded memory.
class RecallSample {
 public:
  RecallSample(const SegmentSet& set, const SegmentGraph& graph, const IndexedModel& model,
               const GraphProgress& progress)
      : set_(set), graph_(graph), progress_(progress) {
    take_vectors(model);
    find_exactly(model);
    expect_jumps(true);
  }
  ~RecallSample() { expect_jumps(false); }
  RecallSample(const RecallSample&) = delete;
  RecallSample& operator=(const RecallSample&) = delete;

  Recall measure(int64_t breadth) const {
    std::vector<double> shares(exact_.size());
    for (int64_t begin = 0; begin < vectors_.rows; begin += kSearches) {
      tell_progress();
      run_parallel(std::min(kSearches, vectors_.rows - begin), 1, [&](int64_t i) {
        shares[static_cast<size_t>(begin + i)] = share_found(begin + i, breadth);
      });
    }
    for (const auto& segment : graph_.segments()) segment->release_vectors();
    double sum = 0, squares = 0;
    for (const double share : shares) {
      sum += share;
      squares += share * share;
    }
    const auto n = static_cast<double>(shares.size());
    Recall recall;
    recall.mean = sum / n;
    const double variance = std::max(0.0, squares / n - recall.mean * recall.mean);
    recall.low = recall.mean - 2 * std::sqrt(variance / n);
    return recall;
  }

 private:
  void expect_jumps(bool jumps) const {
    for (const auto& segment : graph_.segments()) segment->expect_jumps(jumps);
  }

  void tell_progress() const { progress_(graph_.row().rows, graph_.row().rows); }

  void take_vectors(const IndexedModel& model) {
    int64_t total = 0, seen = 0, row = 0;
    for (const LiveSegment& live : set_.segments()) total += live.size();
    vectors_ = Matrix<float>(std::min(kSample, total), model.dimension);
    for (size_t s = 0; s < set_.segments().size(); ++s) {
      const LiveSegment& live = set_.segments()[s];
      for (int64_t i = 0; i < live.size(); ++i, ++seen) {
        if ((seen + 1) * vectors_.rows / total == seen * vectors_.rows / total) continue;
        live.segment().vectors().read(live.row(i), vectors_.row(row++));
        nodes_.push_back(static_cast<uint32_t>((s << kGraphShift) + live.row(i)));
      }
      live.segment().release_vectors();
    }
  }

  // The best hits of each vector but itself.
  void find_exactly(const IndexedModel& model) {
    exact_.assign(nodes_.size(), {});
    for (size_t s = 0; s < set_.segments().size(); ++s) {
      tell_progress();
      const LiveSegment& live = set_.segments()[s];
      const auto found = exact_search(live.segment().vectors(), live.size(), vectors_.values.data(),
                                      vectors_.rows, kNearest + 1, model.metric, live.rows());
      live.segment().release_vectors();
      for (size_t i = 0; i < found.size(); ++i) {
        for (const Hit& hit : found[i]) {
          const int64_t node = static_cast<int64_t>(s << kGraphShift) + live.row(hit.id);
          if (node != nodes_[i]) exact_[i].push_back({node, hit.score});
        }
        std::sort(exact_[i].begin(), exact_[i].end(), better_hit);
        if (static_cast<int64_t>(exact_[i].size()) > kNearest) exact_[i].resize(kNearest);
      }
    }
  }

  // Another of the same score as the last is as good.
  double share_found(int64_t i, int64_t breadth) const {
    const std::vector<Hit>& exact = exact_[static_cast<size_t>(i)];
    if (exact.empty()) return 1;
    WalkSettings settings;
    settings.top_k = kNearest;
    settings.breadth = breadth;
    settings.most_scored = graph_.row().rows;
    settings.accepts = [&](uint32_t row) { return set_.is_live(row); };
    settings.without = nodes_[static_cast<size_t>(i)];
    const auto found = graph_.walker().search(vectors_.row(i), settings);
    if (!found) return 1;  // a search would go through all
    const auto good = std::count_if(found->begin(), found->end(), [&](const Hit& hit) {
      return hit.score >= exact.back().score;
    });
    return std::min(1.0, static_cast<double>(good) / static_cast<double>(exact.size()));
  }

  const SegmentSet& set_;
  const SegmentGraph& graph_;
  const GraphProgress& progress_;
  Matrix<float> vectors_;
  std::vector<uint32_t> nodes_;          // in the graph
  std::vector<std::vector<Hit>> exact_;  // by nodes
};

// The narrowest search that reaches `wanted`, or the widest, and what it found.
std::pair<int64_t, Recall> choose_breadth(const RecallSample& sample, double wanted) {
  int64_t below = kNearest;  // a walk finds no more than its breadth
  std::pair<int64_t, Recall> chosen;
  for (const int64_t breadth : kBreadths) {
    chosen = {breadth, sample.measure(breadth)};
    if (chosen.second.low >= wanted) break;
    below = breadth;
  }
  while (chosen.second.low >= wanted && chosen.first - below > std::max<int64_t>(2, below / 16)) {
    const int64_t middle = (chosen.first + below) / 2;
    const Recall recall = sample.measure(middle);
    if (recall.low >= wanted) {
      chosen = {middle, recall};
    } else {
      below = middle;
    }
  }
  return chosen;
}

}  // namespace

bool needs_graph(const StoreState& state, const ApproximateOptions& options) {
  const int64_t count = state.vectors();
  if (options.approximate == "never" || count == 0 || !has_shape(state.segments)) return false;
  if (options.approximate == "auto" && count < kApproximateRows) return false;
  if (!state.graph) return true;
  const int64_t all = count + state.removed_rows;
  return all - state.graph->rows >= kApproximateRows || 4 * state.removed_rows >= all;
}

std::optional<GraphRow> make_graph(const std::string& folder, const IndexedModel& model,
                                   const StoreSnapshot& snapshot, const Segments& segments,
                                   int64_t number, const ApproximateOptions& options,
                                   const GraphProgress& progress) {
  const std::string path = graph_path(folder, number);
  GraphRow row;
  row.number = number;
  row.segments = static_cast<int64_t>(segments.size());
  const VectorRows rows = rows_of(segments, model);
  row.rows = rows.count;
  // Inserted vectors are not read from their segments again.
  const GraphProgress release = [&](int64_t done, int64_t all) {
    const auto inserted = static_cast<size_t>(done >> kGraphShift);
    if (inserted > 0) segments[inserted - 1]->release_vectors();
    if (progress) progress(done, all);
  };
  row.checksum = build_graph(rows, path, graph_owner(model, number, segments), release);
  const auto graph = std::make_shared<const SegmentGraph>(path, model, row, segments);
  const SegmentSet set(segments, snapshot, nullptr, graph);
  const GraphProgress measuring = [&](int64_t done, int64_t all) {
    try {
      if (progress) progress(done, all);
    } catch (...) {
      std::remove(path.c_str());
      throw;
    }
  };
  const auto [breadth, recall] =
      choose_breadth(RecallSample(set, *graph, model, measuring), options.recall);
  if (recall.low < options.recall && options.approximate == "auto") {
    std::remove(path.c_str());
    return std::nullopt;
  }
  row.breadth = breadth;
  row.found = recall.of_10000();
  return row;
}

namespace {

constexpr int64_t kRecallSample = 1000;

class RecallByFloats {
 public:
  RecallByFloats(const SegmentSet& stored, const SegmentSet& floats, const IndexedModel& model)
      : stored_(stored), floats_(floats), model_(model), keys_(floats.vectors()) {}

  std::optional<double> measure() {
    const auto total = static_cast<int64_t>(keys_.size());
    if (total < 2) return std::nullopt;
    Matrix<float> queries(std::min(kRecallSample, total), model_.dimension);
    for (int64_t i = 0; i < queries.rows; ++i) {
      sample_.push_back(keys_[static_cast<size_t>(i * total / queries.rows)].key);
      read(sample_.back(), queries.row(i));
    }
    const auto best = floats_.search(queries, kNearest + 1, model_, true);
    const auto found = stored_.search(queries, kNearest + 1, model_, true);
    double sum = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      sum += share_found(queries.row(static_cast<int64_t>(i)), without(sample_[i], best[i]),
                         without(sample_[i], found[i]));
    }
    return std::floor(1e4 * sum / static_cast<double>(found.size())) / 1e4;
  }

 private:
  static std::vector<IndexHit> without(int64_t key, std::vector<IndexHit> hits) {
    const auto is_it = [=](const IndexHit& hit) { return hit.vector.key == key; };
    hits.erase(std::remove_if(hits.begin(), hits.end(), is_it), hits.end());
    if (static_cast<int64_t>(hits.size()) > kNearest) hits.resize(kNearest);
    return hits;
  }

  void read(int64_t key, float* out) const {
    const FoundVector found = floats_.find(key);
    found.segment->vectors().read(found.row, out);
  }

  // A vector with the same score by floats as the last of the best is as good.
  double share_found(const float* query, const std::vector<IndexHit>& best,
                     const std::vector<IndexHit>& found) const {
    if (best.empty()) return 1;  // no other vector has a score that is a number
    std::vector<float> vector(static_cast<size_t>(model_.dimension));
    int64_t good = 0;
    for (size_t i = 0; i < std::min(found.size(), best.size()); ++i) {
      read(found[i].vector.key, vector.data());
      double score;
      exact_scores(vector.data(), 1, query, 1, model_.dimension, model_.metric, &score);
      good += score >= best.back().score ? 1 : 0;
    }
    return static_cast<double>(good) / static_cast<double>(best.size());
  }

  const SegmentSet& stored_;
  const SegmentSet& floats_;
  const IndexedModel& model_;
  const std::vector<VectorKey> keys_;
  std::vector<int64_t> sample_;
};

}  // namespace

std::optional<double> measure_stored_recall(const SegmentSet& stored, const SegmentSet& floats,
                                            const IndexedModel& model) {
  return RecallByFloats(stored, floats, model).measure();
}

}  // namespace simile::detail
