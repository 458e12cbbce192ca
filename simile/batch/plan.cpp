// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/plan.h"

#include <algorithm>
#include <numeric>

#include "simile/core/random.h"

namespace simile {

ExampleOrder order_sequential(int64_t examples) {
  ExampleOrder order(static_cast<size_t>(examples));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

ExampleOrder order_random(int64_t examples, uint64_t seed, uint64_t epoch) {
  ExampleOrder order = order_sequential(examples);
  RandomStream stream(seed, "order", epoch);
  shuffle(order, stream);
  return order;
}

ExampleOrder order_length_bucketed(const std::vector<int64_t>& lengths, int64_t batch_size,
                                   int64_t pool_batches, uint64_t seed, uint64_t epoch) {
  ExampleOrder order = order_random(static_cast<int64_t>(lengths.size()), seed, epoch);
  const auto examples = static_cast<int64_t>(order.size());
  const int64_t whole = examples - examples % batch_size;
  const int64_t pool = batch_size * std::min(pool_batches, examples / batch_size + 1);
  for (int64_t begin = 0; begin < whole; begin += pool) {
    std::stable_sort(order.begin() + begin, order.begin() + std::min(whole, begin + pool),
                     [&](int32_t a, int32_t b) {
                       return lengths[static_cast<size_t>(a)] < lengths[static_cast<size_t>(b)];
                     });
  }
  Batches batches = cut_batches(order, batch_size);
  std::vector<int32_t> rest;
  if (whole < examples) {
    rest = std::move(batches.back());
    batches.pop_back();
  }
  RandomStream stream(seed, "order of batches", epoch);
  shuffle(batches, stream);
  batches.push_back(std::move(rest));
  return join_batches(batches);
}

ExampleOrder order_neighbours(const Matrix<int32_t>& neighbours, const TextColumns& text_ids,
                              const OrderOptions& options, uint64_t seed, uint64_t epoch) {
  std::vector<char> used(static_cast<size_t>(neighbours.rows), 0);
  ExampleOrder order, group;
  order.reserve(used.size());
  const auto has_text_of = [&](int32_t member, int32_t text) {
    return std::any_of(text_ids.begin(), text_ids.end(),
                       [&](const auto& ids) { return ids[static_cast<size_t>(member)] == text; });
  };
  const auto shares_text = [&](int32_t candidate) {
    for (const auto& ids : text_ids) {
      const int32_t text = ids[static_cast<size_t>(candidate)];
      const auto has = [&](int32_t member) { return has_text_of(member, text); };
      if (std::any_of(group.begin(), group.end(), has)) return true;
    }
    return false;
  };
  for (const int32_t start : order_random(neighbours.rows, seed, epoch)) {
    if (used[static_cast<size_t>(start)]) continue;
    group = {start};
    for (int64_t j = 0; j < neighbours.cols; ++j) {
      if (static_cast<int64_t>(group.size()) >= options.group_size) break;
      const int32_t candidate = neighbours.at(start, j);
      if (candidate < 0 || candidate == start || used[static_cast<size_t>(candidate)]) continue;
      if (!options.allow_same && shares_text(candidate)) continue;
      group.push_back(candidate);
    }
    for (const int32_t member : group) used[static_cast<size_t>(member)] = 1;
    order.insert(order.end(), group.begin(), group.end());
  }
  if (options.reverse) std::reverse(order.begin(), order.end());
  return order;
}

Batches cut_batches(const ExampleOrder& order, int64_t batch_size) {
  std::vector<int32_t> sizes;
  const auto examples = static_cast<int64_t>(order.size());
  for (int64_t begin = 0; begin < examples; begin += batch_size) {
    sizes.push_back(static_cast<int32_t>(std::min(batch_size, examples - begin)));
  }
  return cut_batches(order, sizes);
}

Batches cut_batches(const ExampleOrder& order, const std::vector<int32_t>& sizes) {
  Batches batches;
  batches.reserve(sizes.size());
  auto begin = order.begin();
  for (const int32_t size : sizes) {
    batches.emplace_back(begin, begin + size);
    begin += size;
  }
  return batches;
}

ExampleOrder join_batches(const Batches& batches) {
  ExampleOrder order;
  for (const auto& batch : batches) order.insert(order.end(), batch.begin(), batch.end());
  return order;
}

std::vector<int32_t> batch_sizes(const Batches& batches) {
  std::vector<int32_t> sizes;
  for (const auto& batch : batches) sizes.push_back(static_cast<int32_t>(batch.size()));
  return sizes;
}

}  // namespace simile
