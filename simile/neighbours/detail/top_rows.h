// SPDX-License-Identifier: Apache-2.0
// The rows with the best k scores of a stream of very many, eight bytes each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "simile/neighbours/exact_search.h"

namespace simile::detail {

inline bool better_hit(const Hit& a, const Hit& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

// Highest score first, equal scores by lower row. With a margin, also the rows whose score is that
// much below the k-th best or less: all that could be among the best k if scores were off by half
// of it.
class TopRows {
 public:
  explicit TopRows(int64_t k, float margin = 0)
      : k_(static_cast<size_t>(k)), limit_(4 * k_ + 1024), margin_(margin) {}

  // Rows with a lower score need not be offered; a score that is not a number must not be.
  float threshold() const { return threshold_; }

  void push(int32_t row, float score) {
    keys_.push_back(key(score) << 32 | static_cast<uint32_t>(~row));
    if (keys_.size() >= full_) shrink();
  }

  // Brings the threshold up to date.
  void tighten() {
    if (keys_.size() > k_) shrink();
  }

  // Whether too many rows were within the margin, so that some were dropped.
  bool overflowed() const { return overflowed_; }

  // The rows, best first, numbered from `first` on; ends the collection.
  std::vector<Hit> take_hits(int64_t first) {
    tighten();
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    std::vector<Hit> hits;
    hits.reserve(keys_.size());
    for (const uint64_t key : keys_) {
      hits.push_back({first + static_cast<int32_t>(~static_cast<uint32_t>(key)), score(key)});
    }
    std::vector<uint64_t>().swap(keys_);
    return hits;
  }

  std::vector<int32_t> take_sorted() {
    std::vector<int32_t> rows;
    for (const Hit& hit : take_hits(0)) rows.push_back(static_cast<int32_t>(hit.id));
    return rows;
  }

 private:
  // Unsigned numbers in the order of the scores; -0 is 0.
  static uint64_t key(float score) {
    score += 0.0f;
    uint32_t bits;
    std::memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  }

  static float score(uint64_t key) {
    const auto high = static_cast<uint32_t>(key >> 32);
    const uint32_t bits = high >> 31 ? high & 0x7FFFFFFFu : ~high;
    float score;
    std::memcpy(&score, &bits, sizeof score);
    return score;
  }

  void shrink() {
    const auto best = keys_.begin() + k_;
    std::nth_element(keys_.begin(), best - 1, keys_.end(), std::greater<>());
    threshold_ = score(keys_[k_ - 1]) - margin_;
    const uint64_t lowest = key(threshold_) << 32;
    keys_.erase(margin_ == 0 ? best
                             : std::partition(best, keys_.end(),
                                              [&](uint64_t key) { return key >= lowest; }),
                keys_.end());
    if (keys_.size() > limit_) {
      overflowed_ = true;
      keys_.resize(k_);
    }
    full_ = keys_.size() + k_ + 64;
  }

  size_t k_, limit_;
  float margin_;
  size_t full_ = 2 * k_ + 64;
  float threshold_ = -std::numeric_limits<float>::infinity();
  bool overflowed_ = false;
  std::vector<uint64_t> keys_;
};

}  // namespace simile::detail
