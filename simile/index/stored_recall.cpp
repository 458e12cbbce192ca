// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/stored_recall.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simile/neighbours/detail/top_hits.h"

namespace simile::detail {
namespace {

constexpr int64_t kRecallSample = 1000;

class RecallByFloats {
 public:
  RecallByFloats(const SegmentSet& set, const VectorLog& log, const IndexedModel& model)
      : set_(set), log_(log), model_(model) {
    int64_t first = 0;
    for (const LiveSegment& live : set.segments()) {
      begins_.emplace(&live.segment(), first);
      for (int64_t i = 0; i < live.size(); ++i) live_.push_back(first + live.row(i));
      first += live.segment().size();
    }
  }

  std::optional<double> measure() {
    const auto total = static_cast<int64_t>(live_.size());
    if (total < 2) return std::nullopt;
    take_queries(total);
    find_by_floats();
    const auto found = set_.search(queries_, kNearest + 1, model_, true);
    double sum = 0;
    for (size_t i = 0; i < found.size(); ++i) sum += share_found(i, found[i]);
    return std::floor(1e4 * sum / static_cast<double>(found.size())) / 1e4;
  }

 private:
  void take_queries(int64_t total) {
    queries_ = Matrix<float>(std::min(kRecallSample, total), model_.dimension);
    for (int64_t i = 0; i < queries_.rows; ++i) {
      rows_.push_back(live_[static_cast<size_t>(i * total / queries_.rows)]);
      log_.read(rows_.back(), queries_.row(i));
    }
  }

  // The best rows for each query but itself.
  void find_by_floats() {
    best_.assign(rows_.size(), {});
    auto next = live_.begin();
    for (const VectorLog::Reader::Block& block : log_.blocks()) {
      const int64_t end = block.first + block.rows.count;
      std::vector<int64_t> places;
      for (; next != live_.end() && *next < end; ++next) places.push_back(*next - block.first);
      const auto hits =
          exact_search(block.rows, static_cast<int64_t>(places.size()), queries_.values.data(),
                       queries_.rows, kNearest + 1, model_.metric, places.data());
      log_.release(block);
      for (size_t i = 0; i < hits.size(); ++i) {
        for (const Hit& hit : hits[i]) {
          const int64_t row = block.first + places[static_cast<size_t>(hit.id)];
          if (row != rows_[i]) best_[i].push_back({row, hit.score});
        }
        std::sort(best_[i].begin(), best_[i].end(), better_hit);
        if (static_cast<int64_t>(best_[i].size()) > kNearest) best_[i].resize(kNearest);
      }
    }
  }

  // Another of the same score by floats as the last is as good.
  double share_found(size_t i, const std::vector<IndexHit>& found) const {
    if (best_[i].empty()) return 1;  // no other has a score that is a number
    const double last = best_[i].back().score;
    std::vector<float> vector(static_cast<size_t>(model_.dimension));
    int64_t good = 0;
    size_t taken = 0;
    for (const IndexHit& hit : found) {
      const FoundVector place = set_.find(hit.vector.key);
      const int64_t row = begins_.at(place.segment) + place.row;
      if (row == rows_[i] || taken == best_[i].size()) continue;
      ++taken;
      log_.read(row, vector.data());
      double score;
      exact_scores(vector.data(), 1, queries_.row(static_cast<int64_t>(i)), 1, model_.dimension,
                   model_.metric, &score);
      good += score >= last ? 1 : 0;
    }
    return static_cast<double>(good) / static_cast<double>(best_[i].size());
  }

  const SegmentSet& set_;
  VectorLog::Reader log_;
  const IndexedModel& model_;
  std::map<const Segment*, int64_t> begins_;  // the first of its rows in the log
  std::vector<int64_t> live_;                 // rows of the log, rising
  Matrix<float> queries_;
  std::vector<int64_t> rows_;           // of the queries
  std::vector<std::vector<Hit>> best_;  // by rows of the log
};

}  // namespace

std::optional<double> measure_stored_recall(const SegmentSet& set, const VectorLog& log,
                                            const IndexedModel& model) {
  return RecallByFloats(set, log, model).measure();
}

}  // namespace simile::detail
