// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/segment_set.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/index/detail/manifest.h"
#include "simile/index/detail/word_file.h"
#include "simile/index/detail/word_search.h"
#include "simile/neighbours/detail/top_rows.h"

namespace simile::detail {
namespace {

constexpr int64_t kScoredByStep = 40;     // vectors of a scan that take as long as a step of a walk
constexpr int64_t kSmallSegment = 16384;  // rows; several are searched at a time, each by a thread

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

// `list` is in the order of its keys, which do not mix; segment_of() gives each segment.
template <typename List, typename SegmentOf>
FoundVector find_among(const List& list, int64_t key, const SegmentOf& segment_of) {
  const auto after = std::upper_bound(
      list.begin(), list.end(), key,
      [&](int64_t wanted, const auto& each) { return wanted < segment_of(each)->row().first_key; });
  if (after == list.begin()) return {};
  const Segment* const segment = segment_of(*std::prev(after));
  return {segment, segment->find(key), std::prev(after) - list.begin()};
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

// Made under the lock by the first who asks. std::call_once would not do: after an error of a
// damaged file, thread sanitizer lets the next caller wait for ever.
struct LiveSegment::WordCounts {
  std::mutex mutex;
  bool made = false;
  int64_t total_length = 0;
  std::vector<int64_t> rows_with;  // by word
};

LiveSegment::LiveSegment(std::shared_ptr<const Segment> segment,
                         const std::vector<int64_t>& removed, const LiveSegment* earlier)
    : segment_(std::move(segment)) {
  if (removed.empty()) return;
  const int64_t live = segment_->size() - static_cast<int64_t>(removed.size());
  // Keys of a segment are only ever removed, so an equal number means the same keys.
  if (earlier != nullptr && earlier->size() == live) {
    rows_ = earlier->rows_;
    word_counts_ = earlier->word_counts_;
  } else {
    rows_ = std::make_shared<const Rows>(live_rows(*segment_, removed));
    word_counts_ = std::make_shared<WordCounts>();
  }
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

const LiveSegment::WordCounts& LiveSegment::word_counts() const {
  WordCounts& counts = *word_counts_;
  const std::lock_guard<std::mutex> lock(counts.mutex);
  if (counts.made) return counts;
  const WordFile& words = segment_->words();
  std::vector<char> is_live(static_cast<size_t>(segment_->size()));
  int64_t total_length = 0;
  std::vector<int64_t> rows_with;
  for (const int64_t row : *rows_) {
    is_live[static_cast<size_t>(row)] = 1;
    total_length += words.length(row);
  }
  for (int64_t i = 0; i < words.words(); ++i) {
    const WordPostings found = words.postings(i);
    rows_with.push_back(std::count_if(found.rows, found.rows + found.size,
                                      [&](uint16_t row) { return is_live[size_t{row}] != 0; }));
  }
  counts.total_length = total_length;
  counts.rows_with = std::move(rows_with);
  counts.made = true;
  return counts;
}

int64_t LiveSegment::total_length() const {
  return rows_ == nullptr ? segment_->words().total_length() : word_counts().total_length;
}

int64_t LiveSegment::rows_with(int64_t word) const {
  return rows_ == nullptr ? segment_->words().rows_with(word)
                          : word_counts().rows_with[static_cast<size_t>(word)];
}

struct SegmentSet::Words {
  std::mutex mutex;
  std::optional<WordSearch> search;  // made by the first who asks
};

SegmentSet::SegmentSet(const IndexedModel& model, const Segments& segments,
                       const StoreSnapshot& snapshot, const SegmentSet* earlier,
                       std::shared_ptr<const SegmentGraph> graph)
    : model_(&model),
      generation_(snapshot.state.generation),
      metadata_generation_(snapshot.state.metadata_generation),
      graph_(std::move(graph)),
      words_(std::make_shared<Words>()) {
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
  SegmentSet set = *this;
  set.words_ = std::make_shared<Words>();
  const char* next = allowed.data();
  for (LiveSegment& live : set.segments_) {
    const int64_t size = live.size();
    live = LiveSegment(live, next);
    next += size;
  }
  return set;
}

const WordSearch& SegmentSet::words() const {
  const std::lock_guard<std::mutex> lock(words_->mutex);
  if (!words_->search) words_->search.emplace(segments_, model_->language);
  return *words_->search;
}

void SegmentSet::check_queries(const Matrix<float>& queries) const {
  SIMILE_CHECK(queries.cols == model_->dimension || queries.rows == 0, ErrorKind::kInput,
               "index: queries of size {}, expected {}", queries.cols, model_->dimension);
}

int64_t SegmentSet::size_of_graph() const {
  int64_t size = 0;
  for (int64_t i = 0; i < graph_->row().segments; ++i) {
    size += segments_[static_cast<size_t>(i)].size();
  }
  return size;
}

int64_t SegmentSet::choose_breadth(int64_t top_k, int64_t of_ten, int64_t least) const {
  if (graph_ == nullptr || top_k <= 0 || of_ten == 0) return 0;
  const int64_t size = size_of_graph();
  const int64_t wanted = std::max(top_k, kNearest);
  if (wanted > size / kScoredByStep) return 0;
  const int64_t breadth = std::max(least, of_ten * wanted / kNearest);
  // A walk passes by vectors whose documents are gone or not allowed.
  const double live = static_cast<double>(size) / static_cast<double>(graph_->row().rows);
  const double scored = static_cast<double>(breadth * kScoredByStep) / live;
  return scored < static_cast<double>(size) ? breadth : 0;
}

std::vector<IndexHits> SegmentSet::search(const Matrix<float>& queries, int64_t top_k,
                                          bool exact) const {
  const int64_t of_ten = exact || graph_ == nullptr ? 0 : graph_->row().breadth;
  std::vector<IndexHits> results;
  for (const auto& found :
       find_best(queries, {nullptr, 0, top_k, {choose_breadth(top_k, of_ten, 0)}})) {
    IndexHits& hits = results.emplace_back();
    for (const Hit& hit : found) {
      const double score = hit.score;
      hits.push_back({vector(hit.id), score, score, std::nullopt});
    }
  }
  return results;
}

SegmentSet::Found SegmentSet::search_nearest(const Matrix<float>& queries, int64_t top_k,
                                             int64_t least, const CandidateWalk& walk) const {
  const int64_t breadth = choose_breadth(top_k, walk.breadth, least);
  return find_best(queries, {nullptr, 0, std::max(least, breadth), {breadth, walk.without}});
}

void SegmentSet::score(const float* queries, int64_t count, double* scores) const {
  const int64_t all = size();
  std::vector<double> of_segment;
  for (const LiveSegment& live : segments_) {
    of_segment.resize(static_cast<size_t>(count * live.size()));
    exact_scores(live.segment().vectors(), live.size(), queries, count, model_->metric,
                 of_segment.data(), live.rows());
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(of_segment.data() + i * live.size(), live.size(), scores + i * all);
    }
    scores += live.size();
  }
}

void SegmentSet::score_rows(const float* query, const std::vector<int64_t>& rows,
                            double* scores) const {
  std::vector<int64_t> within;
  for (size_t first = 0; first < rows.size(); first += within.size()) {
    const int64_t s = rows[first] >> kGraphShift;
    within.clear();
    for (size_t i = first; i < rows.size() && rows[i] >> kGraphShift == s; ++i) {
      within.push_back(row_within(rows[i]));
    }
    exact_scores(segments_[static_cast<size_t>(s)].segment().vectors(),
                 static_cast<int64_t>(within.size()), query, 1, model_->metric, scores + first,
                 within.data());
  }
}

int64_t SegmentSet::size() const {
  return std::accumulate(segments_.begin(), segments_.end(), int64_t{0},
                         [](int64_t sum, const LiveSegment& live) { return sum + live.size(); });
}

SegmentSet::Found SegmentSet::find_best(const Matrix<float>& vectors, Queries queries) const {
  check_queries(vectors);
  verify_vectors();
  queries.vectors = vectors.values.data();
  queries.count = vectors.rows;
  Found hits(static_cast<size_t>(vectors.rows));
  size_t first = 0;
  if (queries.walk.breadth > 0) {
    walk(queries, hits);
    first = static_cast<size_t>(graph_->row().segments);
  }
  scan(queries, {first, segments_.size()}, hits);
  for (std::vector<Hit>& of_query : hits) {
    const auto kept =
        std::min(of_query.size(), static_cast<size_t>(std::max<int64_t>(queries.top_k, 0)));
    const auto end = of_query.begin() + static_cast<std::ptrdiff_t>(kept);
    std::partial_sort(of_query.begin(), end, of_query.end(), better_hit);
    of_query.erase(end, of_query.end());
  }
  return hits;
}

void SegmentSet::scan(const Queries& queries, std::pair<size_t, size_t> range, Found& hits) const {
  std::vector<Found> found(segments_.size());
  const auto search_one = [&](size_t i) {
    const LiveSegment& live = segments_[i];
    found[i] = exact_search(live.segment().vectors(), live.size(), queries.vectors, queries.count,
                            queries.top_k, model_->metric, live.rows());
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
      const auto begin = static_cast<int64_t>(i) << kGraphShift;
      for (const Hit& hit : found[i][query]) {
        hits[query].push_back({begin + segments_[i].row(hit.id), hit.score});
      }
    }
  }
}

FoundVector SegmentSet::find(int64_t key) const {
  return find_among(segments_, key, [](const LiveSegment& live) { return &live.segment(); });
}

int64_t SegmentSet::row_of(int64_t key) const {
  const FoundVector found = find(key);
  return (found.number << kGraphShift) + found.row;
}

void SegmentSet::walk(const Queries& queries, Found& hits) const {
  const int64_t size = size_of_graph();
  WalkSettings settings;
  settings.top_k = queries.top_k;
  settings.breadth = queries.walk.breadth;
  settings.most_scored = graph_->row().rows;
  if (size < graph_->row().rows) {
    settings.most_scored = size;  // a scan costs that
    settings.accepts = [&](uint32_t row) { return is_live(row); };
  }
  const GraphWalker& walker = graph_->walker();
  run_parallel(queries.count, 1, [&](int64_t i) {
    const float* const query = queries.vectors + i * model_->dimension;
    WalkSettings own = settings;
    if (queries.walk.without != nullptr) own.without = queries.walk.without[i];
    auto found = walker.search(query, own);
    if (!found || static_cast<int64_t>(found->size()) < std::min(queries.top_k, size)) {
      Found exact(1);
      scan({query, 1, queries.top_k, {}}, {0, static_cast<size_t>(graph_->row().segments)}, exact);
      found = std::move(exact.front());
    }
    hits[static_cast<size_t>(i)] = std::move(*found);
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

// take_live() of the segment's places [begin, end).
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
