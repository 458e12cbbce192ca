// SPDX-License-Identifier: Apache-2.0
// The best k of a stream of scored rows: highest score first, equal scores by lower id.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "simile/neighbours/exact_search.h"

namespace simile::detail {

inline bool better_hit(const Hit& a, const Hit& b) {
  return a.score != b.score ? a.score > b.score : a.id < b.id;
}

class TopHits {
 public:
  explicit TopHits(int64_t k) : k_(static_cast<size_t>(k)) {}

  // A score that is not a number is never kept.
  void push(int64_t id, float score) {
    if (!(score >= threshold_)) return;
    hits_.push_back({id, score});
    if (hits_.size() >= 2 * k_ + 64) shrink();
  }

  void merge(const TopHits& other) {
    for (const Hit& hit : other.hits_) push(hit.id, hit.score);
  }

  std::vector<Hit> take_sorted() {
    if (hits_.size() > k_) shrink();
    std::sort(hits_.begin(), hits_.end(), better_hit);
    return std::move(hits_);
  }

 private:
  void shrink() {
    if (k_ == 0) {
      hits_.clear();
      return;
    }
    const auto last = hits_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(hits_.begin(), last, hits_.end(), better_hit);
    threshold_ = last->score;
    hits_.resize(k_);
  }

  size_t k_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  std::vector<Hit> hits_;
};

}  // namespace simile::detail
