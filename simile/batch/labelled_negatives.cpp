// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/labelled_negatives.h"

#include <algorithm>

#include "simile/core/random.h"

namespace simile {
namespace {

// Runs of the order whose sizes differ by at most one, the larger first.
Batches cut_evenly(const ExampleOrder& order, int64_t count) {
  const auto examples = static_cast<int64_t>(order.size());
  std::vector<int32_t> sizes;
  for (int64_t i = 0; i < count; ++i) {
    sizes.push_back(static_cast<int32_t>(examples / count + (i < examples % count ? 1 : 0)));
  }
  return cut_batches(order, sizes);
}

// The anchors of a batch in the order of their first positives there. `seen` [anchors] says in
// which batch an anchor was met last.
std::vector<size_t> anchors_of(const LabelledNegatives& negatives, const Batches& batches,
                               size_t number, std::vector<int64_t>& seen) {
  std::vector<size_t> anchors;
  for (const int32_t example : batches[number]) {
    if (!negatives.is_positive[static_cast<size_t>(example)]) continue;
    const auto anchor = static_cast<size_t>(negatives.anchor[static_cast<size_t>(example)]);
    if (negatives.of[anchor].empty() || seen[anchor] == static_cast<int64_t>(number)) continue;
    seen[anchor] = static_cast<int64_t>(number);
    anchors.push_back(anchor);
  }
  return anchors;
}

}  // namespace

LabelledNegatives find_labelled_negatives(const std::vector<int32_t>& anchor,
                                          const std::vector<char>& is_positive) {
  LabelledNegatives found;
  found.anchor = anchor;
  found.is_positive = is_positive;
  const auto last = std::max_element(anchor.begin(), anchor.end());
  const size_t anchors = last == anchor.end() ? 0 : static_cast<size_t>(*last) + 1;
  found.of.resize(anchors);
  std::vector<char> has_positive(anchors, 0);
  for (size_t i = 0; i < anchor.size(); ++i) {
    if (is_positive[i]) has_positive[static_cast<size_t>(anchor[i])] = 1;
  }
  for (size_t i = 0; i < anchor.size(); ++i) {
    const auto own = static_cast<size_t>(anchor[i]);
    const bool is_attached = !is_positive[i] && has_positive[own];
    (is_attached ? found.of[own] : found.placed).push_back(static_cast<int32_t>(i));
  }
  return found;
}

int64_t count_filled_batches(const LabelledNegatives& negatives, int64_t most, int64_t batch_size) {
  std::vector<int64_t> positives(negatives.of.size());
  for (size_t i = 0; i < negatives.anchor.size(); ++i) {
    if (negatives.is_positive[i]) ++positives[static_cast<size_t>(negatives.anchor[i])];
  }
  const auto placed = static_cast<int64_t>(negatives.placed.size());
  int64_t used = placed;
  for (size_t anchor = 0; anchor < positives.size(); ++anchor) {
    used += std::min(static_cast<int64_t>(negatives.of[anchor].size()), most * positives[anchor]);
  }
  return std::min(placed, (used + batch_size - 1) / batch_size);
}

FilledBatches fill_batches(const LabelledNegatives& negatives, const ExampleOrder& order,
                           int64_t most, int64_t batch_size, uint64_t seed, uint64_t epoch) {
  FilledBatches filled;
  filled.batches = cut_evenly(order, count_filled_batches(negatives, most, batch_size));
  filled.left_out = negatives.attached();
  std::vector<std::vector<int32_t>> waiting = negatives.of;  // the last is the next
  RandomStream stream(seed, "labelled negatives", epoch);
  for (auto& attached : waiting) shuffle(attached, stream);
  std::vector<int64_t> seen(waiting.size(), -1);
  for (size_t number = 0; number < filled.batches.size(); ++number) {
    const std::vector<size_t> anchors = anchors_of(negatives, filled.batches, number, seen);
    auto& batch = filled.batches[number];
    const auto room = [&] { return static_cast<int64_t>(batch.size()) < batch_size; };
    bool has_more = true;
    for (int64_t round = 0; round < most && has_more && room(); ++round) {
      has_more = false;
      for (const size_t anchor : anchors) {
        if (waiting[anchor].empty() || !room()) continue;
        batch.push_back(waiting[anchor].back());
        waiting[anchor].pop_back();
        --filled.left_out;
        has_more = true;
      }
    }
  }
  return filled;
}

}  // namespace simile
