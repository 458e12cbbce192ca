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
#include "simile/index/detail/segment_search.h"
#include "simile/index/detail/segment_set.h"
#include "simile/neighbours/detail/top_rows.h"

namespace simile::detail {
namespace {

// The owner of the graph `number` of these segments.
std::string graph_owner(const IndexedModel& model, int64_t number, const Segments& segments) {
  std::string text = "graph " + segment_kind(model, number).owner;
  for (const auto& segment : segments) {
    text += fmt::format("\n{} {}", segment->row().number, segment->row().checksum);
  }
  return hash_bytes(text);
}

// All vectors of the segments, verified.
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

}  // namespace

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
constexpr int64_t kSearches = 100;        // between two calls of progress()
constexpr double kLeastAgreement = 0.99;  // of searches by vectors and words
constexpr int64_t kBreadths[] = {10,  16,  24,  32,  48,  64,   96,   128,
                                 192, 256, 384, 512, 768, 1024, 1536, 2048};

bool has_shape(const std::vector<SegmentRow>& segments) {
  return std::all_of(segments.begin(), segments.end(), [&](const SegmentRow& row) {
    return row.rows == kFullSegment || (&row == &segments.back() && row.rows < kFullSegment);
  });
}

// The best hits but that of a vector itself.
IndexHits without(int64_t key, IndexHits hits) {
  const auto is_it = [=](const IndexHit& hit) { return hit.vector.key == key; };
  hits.erase(std::remove_if(hits.begin(), hits.end(), is_it), hits.end());
  if (static_cast<int64_t>(hits.size()) > kNearest) hits.resize(kNearest);
  return hits;
}

// The share of the exact hits that are found. Another of the same score as the last is as good.
template <typename List>
double share_found(const List& exact, const List& found) {
  if (exact.empty()) return 1;
  const auto good = std::count_if(found.begin(), found.end(),
                                  [&](const auto& hit) { return hit.score >= exact.back().score; });
  return std::min(1.0, static_cast<double>(good) / static_cast<double>(exact.size()));
}

struct Recall {
  double mean = 0, low = 0;  // the latter less twice the standard error

  explicit Recall(const std::vector<double>& shares) {
    double sum = 0, squares = 0;
    for (const double share : shares) {
      sum += share;
      squares += share * share;
    }
    const auto n = static_cast<double>(std::max<size_t>(shares.size(), 1));
    mean = sum / n;
    low = mean - 2 * std::sqrt(std::max(0.0, squares / n - mean * mean) / n);
  }
  int64_t of_10000() const { return static_cast<int64_t>(std::floor(1e4 * mean)); }
};

// Searches for the neighbours of vectors of the index, as if each was not in it. Vectors that were
// read are released again, so that building keeps in bounded memory.
class RecallSample {
 public:
  RecallSample(const SegmentSet& set, const SegmentGraph& graph, const GraphProgress& progress)
      : set_(set), graph_(graph), progress_(progress) {
    take_vectors();
    find_exactly();
    expect_jumps(true);
  }
  ~RecallSample() { expect_jumps(false); }
  RecallSample(const RecallSample&) = delete;
  RecallSample& operator=(const RecallSample&) = delete;

  std::vector<double> measure(int64_t breadth) const {
    std::vector<double> shares(exact_.size());
    for (int64_t begin = 0; begin < vectors_.rows; begin += kSearches) {
      tell_progress();
      run_parallel(std::min(kSearches, vectors_.rows - begin), 1, [&](int64_t i) {
        const auto at = static_cast<size_t>(begin + i);
        WalkSettings settings;
        settings.top_k = kNearest;
        settings.breadth = breadth;
        settings.most_scored = graph_.row().rows;
        settings.accepts = [&](uint32_t row) { return set_.is_live(row); };
        settings.without = nodes_[at];
        const auto found = graph_.walker().search(vectors_.row(begin + i), settings);
        shares[at] = found ? share_found(exact_[at], *found) : 1;  // a search would go through all
      });
    }
    release_vectors();
    return shares;
  }

  const SegmentSet& set() const { return set_; }
  const Matrix<float>& vectors() const { return vectors_; }
  const std::vector<uint32_t>& nodes() const { return nodes_; }
  void tell_progress() const { progress_(graph_.row().rows, graph_.row().rows); }
  void release_vectors() const {
    for (const auto& segment : graph_.segments()) segment->release_vectors();
  }

 private:
  void expect_jumps(bool jumps) const {
    for (const auto& segment : graph_.segments()) segment->expect_jumps(jumps);
  }

  void take_vectors() {
    const int64_t total = set_.size();
    int64_t seen = 0, row = 0;
    vectors_ = Matrix<float>(std::min(kSample, total), set_.model().dimension);
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
  void find_exactly() {
    exact_.assign(nodes_.size(), {});
    for (size_t s = 0; s < set_.segments().size(); ++s) {
      tell_progress();
      const LiveSegment& live = set_.segments()[s];
      const auto found =
          exact_search(live.segment().vectors(), live.size(), vectors_.values.data(), vectors_.rows,
                       kNearest + 1, set_.model().metric, live.rows());
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

  const SegmentSet& set_;
  const SegmentGraph& graph_;
  const GraphProgress& progress_;
  Matrix<float> vectors_;
  std::vector<uint32_t> nodes_;          // in the graph
  std::vector<std::vector<Hit>> exact_;  // by nodes
};

// Searches by vectors and words for half of the sample, each as if the graph did not have it,
// beside searches of all documents.
class FusedSample {
 public:
  FusedSample(const RecallSample& sample, const DocumentStore& documents,
              const SearchSettings& settings)
      : sample_(sample), settings_(settings) {
    settings_.mode = "hybrid";
    if (!fuses_candidates(settings_, sample.set().model())) {
      settings_.fusion.rule = FusionOptions().rule;
    }
    for (size_t i = 0; i < sample.nodes().size(); i += 2) take(i, documents);
    for (Part& part : parts_) part.exact = search(part, nullptr);
  }

  std::vector<double> measure(int64_t breadth) const {
    std::vector<double> shares;
    for (const Part& part : parts_) {
      const CandidateWalk walk{breadth, part.nodes.data()};
      const std::vector<IndexHits> found = search(part, &walk);
      for (size_t i = 0; i < found.size(); ++i) {
        shares.push_back(share_found(part.exact[i], found[i]));
      }
    }
    sample_.release_vectors();
    return shares;
  }

 private:
  // Between two calls of progress().
  struct Part {
    SearchQueries queries;
    std::vector<uint32_t> nodes;
    std::vector<IndexHits> exact;
  };

  // A document that was removed meanwhile is left out.
  void take(size_t i, const DocumentStore& documents) {
    const uint32_t node = sample_.nodes()[i];
    const LiveSegment& live = sample_.set().segments()[node >> kGraphShift];
    const int64_t at = live.find(SegmentSet::row_within(node));
    take_live(documents, live, at, [&](int64_t, const Document& document, int64_t passage) {
      if (parts_.empty() || parts_.back().nodes.size() == size_t{kSearches}) parts_.emplace_back();
      Part& part = parts_.back();
      part.nodes.push_back(node);
      part.queries.texts.emplace_back(document.text_of(passage));
      Matrix<float>& vectors = part.queries.vectors;
      const float* const vector = sample_.vectors().row(static_cast<int64_t>(i));
      vectors.cols = sample_.vectors().cols;
      ++vectors.rows;
      vectors.values.insert(vectors.values.end(), vector, vector + vectors.cols);
    });
  }

  // The best hits of each but itself. `walk`: none for all documents.
  std::vector<IndexHits> search(const Part& part, const CandidateWalk* walk) const {
    sample_.tell_progress();
    SearchQueries queries = part.queries;
    queries.exact = walk == nullptr;
    std::vector<IndexHits> found =
        search_segments(sample_.set(), queries, kNearest + 1, settings_, nullptr, walk);
    for (size_t i = 0; i < found.size(); ++i) {
      found[i] = without(sample_.set().vector(part.nodes[i]).key, std::move(found[i]));
    }
    return found;
  }

  const RecallSample& sample_;
  SearchSettings settings_;
  std::vector<Part> parts_;
};

// The narrowest search from `below` on that reaches `wanted`, or the widest, and what it found.
template <typename Sample>
std::pair<int64_t, Recall> choose_breadth(const Sample& sample, int64_t below, double wanted) {
  std::pair<int64_t, Recall> chosen = {below, Recall(sample.measure(below))};
  for (const int64_t breadth : kBreadths) {
    if (chosen.second.low >= wanted) break;
    if (breadth <= chosen.first) continue;
    below = chosen.first;
    chosen = {breadth, Recall(sample.measure(breadth))};
  }
  while (chosen.second.low >= wanted && chosen.first - below > std::max<int64_t>(2, below / 16)) {
    const int64_t middle = (chosen.first + below) / 2;
    const Recall recall(sample.measure(middle));
    if (recall.low >= wanted) {
      chosen = {middle, recall};
    } else {
      below = middle;
    }
  }
  return chosen;
}

}  // namespace

bool needs_graph(const StoreState& state, const SearchSettings& settings) {
  const int64_t count = state.vectors();
  const std::string& approximate = settings.approximate.approximate;
  if (approximate == "never" || count == 0 || !has_shape(state.segments)) return false;
  if (approximate == "auto" && (count < kApproximateRows || !settings.by_vectors())) return false;
  if (!state.graph) return true;
  const int64_t all = count + state.removed_rows;
  return all - state.graph->rows >= kApproximateRows || 4 * state.removed_rows >= all;
}

std::optional<GraphRow> make_graph(const std::string& folder, const IndexedModel& model,
                                   const StoreSnapshot& snapshot, const Segments& segments,
                                   int64_t number, const DocumentStore& documents,
                                   const SearchSettings& settings, const GraphProgress& progress) {
  const ApproximateOptions& options = settings.approximate;
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
  const SegmentSet set(model, segments, snapshot, nullptr, graph);
  const GraphProgress measuring = [&](int64_t done, int64_t all) {
    try {
      if (progress) progress(done, all);
    } catch (...) {
      std::remove(path.c_str());
      throw;
    }
  };
  const RecallSample sample(set, *graph, measuring);
  const auto [breadth, recall] = choose_breadth(sample, kNearest, options.recall);
  if (recall.low < options.recall && options.approximate == "auto") {
    std::remove(path.c_str());
    return std::nullopt;
  }
  row.breadth = breadth;
  row.found = recall.of_10000();
  const auto [fused_breadth, agreement] = choose_breadth(
      FusedSample(sample, documents, settings), breadth, std::max(kLeastAgreement, options.recall));
  const bool agrees = agreement.mean >= kLeastAgreement;
  row.fused_breadth = agrees ? fused_breadth : 0;
  row.agreed = agrees ? agreement.of_10000() : 10000;
  return row;
}

std::optional<double> measure_stored_recall(const SegmentSet& stored, const SegmentSet& floats) {
  const std::vector<VectorKey> keys = floats.vectors();
  const auto total = static_cast<int64_t>(keys.size());
  if (total < 2) return std::nullopt;
  const IndexedModel& model = floats.model();
  const auto read = [&](int64_t key, float* out) {
    const FoundVector found = floats.find(key);
    found.segment->vectors().read(found.row, out);
  };
  Matrix<float> queries(std::min(kSample, total), model.dimension);
  std::vector<int64_t> sample;
  for (int64_t i = 0; i < queries.rows; ++i) {
    sample.push_back(keys[static_cast<size_t>(i * total / queries.rows)].key);
    read(sample.back(), queries.row(i));
  }
  const auto best = floats.search(queries, kNearest + 1, true);
  const auto found = stored.search(queries, kNearest + 1, true);
  double sum = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    // By the scores that floats have.
    IndexHits hits = without(sample[i], found[i]);
    std::vector<float> vector(static_cast<size_t>(model.dimension));
    for (IndexHit& hit : hits) {
      read(hit.vector.key, vector.data());
      exact_scores(vector.data(), 1, queries.row(static_cast<int64_t>(i)), 1, model.dimension,
                   model.metric, &hit.score);
    }
    sum += share_found(without(sample[i], best[i]), hits);
  }
  return std::floor(1e4 * sum / static_cast<double>(found.size())) / 1e4;
}

}  // namespace simile::detail
