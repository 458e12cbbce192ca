// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/plan.h"

#include <algorithm>
#include <numeric>

#include "simile/core/random.h"

namespace simile {

void OrderOptions::visit(OptionVisitor& v) {
  v.field("name", name,
          {"order of the examples in an epoch", "", 0, 0, {"random", "sequential", "neighbours"}});
  v.field("group_size", group_size,
          {"neighbours: examples in a group of similar ones", "examples", 1});
  v.field("neighbours", neighbours,
          {"neighbours: how many nearest examples may join a group", "examples", 1});
  v.field("side", side,
          {"neighbours: the text whose embedding decides", "", 0, 0, {"left", "right"}});
  v.field("allow_same", allow_same, {"neighbours: whether a group may hold equal texts"});
}

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

ExampleOrder order_neighbours(const Matrix<int32_t>& neighbours,
                              const std::vector<std::vector<int32_t>>& text_ids,
                              const OrderOptions& options, uint64_t seed, uint64_t epoch) {
  std::vector<char> used(static_cast<size_t>(neighbours.rows), 0);
  ExampleOrder order, group;
  order.reserve(used.size());
  const auto shares_text = [&](int32_t candidate) {
    for (const auto& ids : text_ids) {
      for (const int32_t member : group) {
        if (ids[static_cast<size_t>(member)] == ids[static_cast<size_t>(candidate)]) return true;
      }
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
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<std::vector<int32_t>> cut_batches(const ExampleOrder& order, int64_t batch_size) {
  std::vector<std::vector<int32_t>> batches;
  for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(batch_size)) {
    const size_t end = std::min(order.size(), begin + static_cast<size_t>(batch_size));
    batches.emplace_back(order.begin() + static_cast<int64_t>(begin),
                         order.begin() + static_cast<int64_t>(end));
  }
  return batches;
}

}  // namespace simile
