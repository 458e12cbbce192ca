// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/stored_recall.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simile/neighbours/detail/top_rows.h"

namespace simile::detail {
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
