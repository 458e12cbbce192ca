// SPDX-License-Identifier: Apache-2.0
// A uniform random sample of items that come one by one, in memory of the sample's size (algorithm
// R: Vitter, "Random Sampling with a Reservoir", TOMS 1985).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "simile/core/random.h"

namespace simile {

template <typename Item>
class Reservoir {
 public:
  // `size` 0 keeps all.
  Reservoir(int64_t size, RandomStream stream)
      : size_(static_cast<uint64_t>(size)), stream_(stream) {}

  // `make()` gives the item, and is called only when it is kept.
  template <typename Make>
  void offer(const Make& make) {
    const uint64_t number = offered_++;
    if (size_ == 0 || number < size_) {
      items_.emplace_back(number, make());
      return;
    }
    const uint64_t place = stream_.below(offered_);
    if (place < size_) items_[place] = {number, make()};
  }

  int64_t offered() const { return static_cast<int64_t>(offered_); }

  // Gives the sample away in the order in which it was offered: take(Item) for each.
  template <typename Take>
  void take(const Take& take) {
    std::sort(items_.begin(), items_.end(),
              [](const Numbered& a, const Numbered& b) { return a.first < b.first; });
    for (Numbered& item : items_) take(std::move(item.second));
    items_ = {};
  }

 private:
  using Numbered = std::pair<uint64_t, Item>;

  uint64_t size_, offered_ = 0;
  RandomStream stream_;
  std::vector<Numbered> items_;
};

}  // namespace simile
