// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/segment_set.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/manifest.h"

namespace simile::detail {
namespace {

constexpr int64_t kQueriesTogether = 1024;  // bounds what all segments' hits take
constexpr int64_t kScoredByStep = 40;     // vectors of a scan that take as long as a step of a walk
constexpr int64_t kSmallSegment = 16384;  // rows; several are searched at a time, each by a thread

using SegmentHits = std::vector<std::vector<Hit>>;  // of each query

LiveSegment::Rows live_rows(const Segment& segment, const std::vector<int64_t>& removed) {
  LiveSegment::Rows rows;
  rows.reserve(static_cast<size_t>(segment.size()));
  auto next = removed.begin();
  for (int64_t row = 0; row < segment.size(); ++row) {
    if (next != removed.end() && *next == segment.key(row)) {
      ++next;
    } else {
      rows.push_back(row);
    }
  }
  SIMILE_CHECK(next == removed.end(), ErrorKind::kInput,
               "'{}': document {} was removed, but never there; build the index again",
               segment.path(), *next);
  return rows;
}

bool is_better(const IndexHit& a, const IndexHit& b) {
  return a.score != b.score ? a.score > b.score : a.vector.key < b.vector.key;
}

// Of those in the order of their keys, segment_of() giving each; their keys do not mix.
template <typename List, typename SegmentOf>
FoundVector find_among(const List& list, int64_t key, const SegmentOf& segment_of) {
  const auto after = std::upper_bound(
      list.begin(), list.end(), key,
      [&](int64_t wanted, const auto& each) { return wanted < segment_of(each)->row().first_key; });
  if (after == list.begin()) return {};
  const Segment* const segment = segment_of(*std::prev(after));
  return {segment, segment->find(key)};
}

}  // namespace

SegmentCache::SegmentCache(std::string folder, IndexedModel model)
    : folder_(std::move(folder)), model_(std::move(model)) {}

Segments SegmentCache::open(const std::vector<SegmentRow>& rows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Segments segments;
  for (const SegmentRow& row : rows) segments.push_back(open_one(row));
  open_.clear();
  for (const auto& segment : segments) open_.emplace(segment->row().number, segment);
  return segments;
}

std::shared_ptr<const SegmentGraph> SegmentCache::open_graph(const StoreState& state,
                                                             const Segments& segments) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!state.graph) {
    graph_.reset();
  } else if (graph_ == nullptr || graph_->row().checksum != state.graph->checksum) {
    const Segments own(segments.begin(), segments.begin() + state.graph->segments);
    graph_ = std::make_shared<const SegmentGraph>(graph_path(folder_, state.graph->number), model_,
                                                  *state.graph, own);
  }
  return graph_;
}

std::shared_ptr<const Segment> SegmentCache::open_one(const SegmentRow& row) const {
  const auto found = open_.find(row.number);
  if (found != open_.end() && found->second->row().checksum == row.checksum) return found->second;
  return std::make_shared<const Segment>(segment_path(folder_, row.number),
                                         segment_kind(model_, row.number), row);
}

LiveSegment::LiveSegment(std::shared_ptr<const Segment> segment,
                         const std::vector<int64_t>& removed, const LiveSegment* earlier)
    : segment_(std::move(segment)) {
  if (removed.empty()) return;
  const int64_t live = segment_->size() - static_cast<int64_t>(removed.size());
  // Of one segment keys are only ever removed: as many are the same ones.
  rows_ = earlier != nullptr && earlier->size() == live
              ? earlier->rows_
              : std::make_shared<const Rows>(live_rows(*segment_, removed));
}

LiveSegment::LiveSegment(const LiveSegment& live, const char* allowed) : segment_(live.segment_) {
  Rows rows;
  for (int64_t i = 0; i < live.size(); ++i) {
    if (allowed[i] != 0) rows.push_back(live.row(i));
  }
  rows_ = std::make_shared<const Rows>(std::move(rows));
}

int64_t LiveSegment::find(int64_t row) const {
  if (rows_ == nullptr) return row;
  const auto place = std::lower_bound(rows_->begin(), rows_->end(), row);
  return place != rows_->end() && *place == row ? place - rows_->begin() : -1;
}

SegmentSet::SegmentSet(const Segments& segments, const StoreSnapshot& snapshot,
                       const SegmentSet* earlier, std::shared_ptr<const SegmentGraph> graph)
    : generation_(snapshot.state.generation), graph_(std::move(graph)) {
  std::map<const Segment*, const LiveSegment*> known;
  if (earlier != nullptr) {
    for (const LiveSegment& live : earlier->segments_) known.emplace(&live.segment(), &live);
  }
  for (const auto& segment : segments) {
    const auto found = known.find(segment.get());
    segments_.emplace_back(segment, keys_within(segment->row(), snapshot.removed),
                           found == known.end() ? nullptr : found->second);
  }
}

SegmentSet SegmentSet::only(const std::vector<char>& allowed) const {
  SegmentSet set(generation_, graph_);
  const char* next = allowed.data();
  for (const LiveSegment& live : segments_) {
    set.segments_.emplace_back(live, next);
    next += live.size();
  }
  return set;
}

void check_dimension(const Matrix<float>& queries, const IndexedModel& model) {
  SIMILE_CHECK(queries.cols == model.dimension || queries.rows == 0, ErrorKind::kInput,
               "index: queries of size {}, expected {}", queries.cols, model.dimension);
}

int64_t SegmentSet::size_of_graph() const {
  int64_t size = 0;
  for (int64_t i = 0; i < graph_->row().segments; ++i) {
    size += segments_[static_cast<size_t>(i)].size();
  }
  return size;
}

int64_t SegmentSet::choose_breadth(int64_t top_k) const {
  if (graph_ == nullptr || top_k <= 0) return 0;
  const int64_t size = size_of_graph();
  const int64_t wanted = std::max(top_k, kNearest);
  if (wanted > size / kScoredByStep) return 0;
  const int64_t breadth = graph_->row().breadth * wanted / kNearest;
  // A walk passes by vectors whose documents are gone or not allowed.
  const double live = static_cast<double>(size) / static_cast<double>(graph_->row().rows);
  const double scored = static_cast<double>(breadth * kScoredByStep) / live;
  return scored < static_cast<double>(size) ? breadth : 0;
}

std::vector<std::vector<IndexHit>> SegmentSet::search(const Matrix<float>& queries, int64_t top_k,
                                                      const IndexedModel& model, bool exact) const {
  check_dimension(queries, model);
  verify_vectors();
  const int64_t breadth = exact ? 0 : choose_breadth(top_k);
  Hits results;
  for (int64_t first = 0; first < queries.rows; first += kQueriesTogether) {
    const int64_t count = std::min(kQueriesTogether, queries.rows - first);
    search_block({queries.row(first), count, top_k, model, breadth}, results);
  }
  return results;
}

void SegmentSet::search_block(const Block& block, Hits& results) const {
  Hits hits(static_cast<size_t>(block.count));
  size_t first = 0;
  if (block.breadth > 0) {
    walk(block, hits);
    first = static_cast<size_t>(graph_->row().segments);
  }
  scan(block, {first, segments_.size()}, hits);
  for (std::vector<IndexHit>& of_query : hits) {
    const auto kept =
        std::min(of_query.size(), static_cast<size_t>(std::max<int64_t>(block.top_k, 0)));
    const auto end = of_query.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(of_query.begin(), end, of_query.end(), is_better);
    of_query.erase(end, of_query.end());
    results.push_back(std::move(of_query));
  }
}

void SegmentSet::scan(const Block& block, std::pair<size_t, size_t> range, Hits& hits) const {
  std::vector<SegmentHits> found(segments_.size());
  const auto search_one = [&](size_t i) {
    const LiveSegment& live = segments_[i];
    found[i] = exact_search(live.segment().vectors(), live.size(), block.queries, block.count,
                            block.top_k, block.model.metric, live.rows());
  };
  std::vector<size_t> small;
  for (size_t i = range.first; i < range.second; ++i) {
    if (segments_[i].size() < kSmallSegment) {
      small.push_back(i);
    } else {
      search_one(i);
    }
  }
  run_parallel(static_cast<int64_t>(small.size()), 1,
               [&](int64_t i) { search_one(small[static_cast<size_t>(i)]); });
  for (size_t query = 0; query < hits.size(); ++query) {
    for (size_t i = range.first; i < range.second; ++i) {
      for (const Hit& hit : found[i][query]) {
        const double score = hit.score;
        hits[query].push_back({segments_[i].vector(hit.id), score, score, std::nullopt});
      }
    }
  }
}

FoundVector SegmentSet::find(int64_t key) const {
  return find_among(segments_, key, [](const LiveSegment& live) { return &live.segment(); });
}

bool SegmentSet::is_live(int64_t row_of_graph) const {
  return segments_[static_cast<size_t>(row_of_graph >> kGraphShift)].find(row_of_graph &
                                                                          (kFullSegment - 1)) >= 0;
}

void SegmentSet::walk(const Block& block, Hits& hits) const {
  const auto segment_of = [this](int64_t row) -> const LiveSegment& {
    return segments_[static_cast<size_t>(row >> kGraphShift)];
  };
  const int64_t size = size_of_graph();
  WalkSettings settings;
  settings.top_k = block.top_k;
  settings.breadth = block.breadth;
  settings.most_scored = graph_->row().rows;
  if (size < graph_->row().rows) {
    settings.most_scored = size;  // a scan costs that
    settings.accepts = [&](uint32_t row) { return is_live(row); };
  }
  const GraphWalker& walker = graph_->walker();
  const std::pair<size_t, size_t> in_graph = {0, static_cast<size_t>(graph_->row().segments)};
  run_parallel(block.count, 1, [&](int64_t i) {
    const float* const query = block.queries + i * block.model.dimension;
    const auto found = walker.search(query, settings);
    auto& of_query = hits[static_cast<size_t>(i)];
    if (!found || static_cast<int64_t>(found->size()) < std::min(block.top_k, size)) {
      Hits exact(1);
      scan({query, 1, block.top_k, block.model, 0}, in_graph, exact);
      of_query = std::move(exact.front());
      return;
    }
    for (const Hit& hit : *found) {
      const double score = hit.score;
      const VectorKey vector = segment_of(hit.id).segment().vector(hit.id & (kFullSegment - 1));
      of_query.push_back({vector, score, score, std::nullopt});
    }
  });
}

std::vector<VectorKey> SegmentSet::vectors() const {
  std::vector<VectorKey> vectors;
  for (const LiveSegment& live : segments_) {
    for (int64_t i = 0; i < live.size(); ++i) vectors.push_back(live.vector(i));
  }
  return vectors;
}

void SegmentSet::verify_vectors() const {
  run_parallel(static_cast<int64_t>(segments_.size()), 1,
               [&](int64_t i) { segments_[static_cast<size_t>(i)].segment().vectors(); });
}

void SegmentSet::verify_all() const {
  verify_vectors();
  if (graph_ != nullptr) graph_->walker();
}

FoundVector find_vector(const Segments& segments, int64_t key) {
  return find_among(segments, key, [](const auto& segment) { return segment.get(); });
}

namespace {

// The same for i in [begin, end).
std::optional<int64_t> take_range(const DocumentStore& store, const LiveSegment& live,
                                  int64_t begin, int64_t end, int64_t first_key, int64_t last_key,
                                  const TakeLive& take) {
  int64_t next = begin;
  std::optional<int64_t> unlike;
  store.for_each(store.document_key(first_key), last_key, [&](int64_t key, const Document& found) {
    const std::vector<VectorKey> keys = vector_keys(key, found);
    for (size_t passage = 0; passage < keys.size() && !unlike; ++passage) {
      if (keys[passage].key < first_key || keys[passage].key > last_key) continue;
      const bool fits = next < end && live.vector(next).key == keys[passage].key &&
                        live.vector(next).content == keys[passage].content;
      if (fits) {
        take(next++, found, static_cast<int64_t>(passage));
      } else {
        unlike = keys[passage].key;
      }
    }
  });
  if (!unlike && next < end) unlike = live.vector(next).key;
  return unlike;
}

}  // namespace

std::optional<int64_t> for_each_live(const DocumentStore& store, const LiveSegment& live,
                                     const TakeLive& take) {
  const SegmentRow& row = live.segment().row();
  return take_range(store, live, 0, live.size(), row.first_key, row.last_key, take);
}

bool take_live(const DocumentStore& store, const LiveSegment& live, int64_t i,
               const TakeLive& take) {
  const int64_t key = live.vector(i).key;
  return !take_range(store, live, i, i + 1, key, key, take);
}

}  // namespace simile::detail
