// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/plan.h"

#include <algorithm>
#include <numeric>

#include "simile/batch/order_table.h"
#include "simile/core/random.h"
#include "simile/neighbours/neighbours.h"

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

namespace {

// Makes the groups of order_neighbours().
class NeighbourGroups {
 public:
  NeighbourGroups(int64_t examples, const FindNeighbours& find, const TextColumns& text_ids,
                  const OrderOptions& options)
      : find_(find),
        text_ids_(text_ids),
        options_(options),
        used_(static_cast<size_t>(examples), 0),
        unused_(examples) {}

  ExampleOrder follow(const ExampleOrder& walk) {
    for (size_t at = 0; at < walk.size();) {
      const std::vector<int32_t> starts = next_starts(walk, at);
      if (starts.empty()) break;
      const Matrix<int32_t> neighbours = find_(starts);
      for (size_t i = 0; i < starts.size(); ++i) {
        if (!is_used(starts[i])) add_group(starts[i], neighbours, static_cast<int64_t>(i));
      }
    }
    return std::move(order_);
  }

 private:
  // Of the walk, from `at` on: so few of the unused examples that hardly any of them comes into a
  // group of another.
  std::vector<int32_t> next_starts(const ExampleOrder& walk, size_t& at) const {
    const auto most = static_cast<size_t>(std::max<int64_t>(16, unused_ / (4 * kUsualGroup)));
    std::vector<int32_t> starts;
    for (; at < walk.size() && starts.size() < most; ++at) {
      if (!is_used(walk[at])) starts.push_back(walk[at]);
    }
    return starts;
  }

  void add_group(int32_t start, const Matrix<int32_t>& neighbours, int64_t row) {
    ExampleOrder group = {start};
    for (int64_t j = 0; j < neighbours.cols; ++j) {
      if (static_cast<int64_t>(group.size()) >= options_.group_size) break;
      const int32_t candidate = neighbours.at(row, j);
      if (candidate < 0 || candidate == start || is_used(candidate)) continue;
      if (!options_.allow_same && shares_text(candidate, group)) continue;
      group.push_back(candidate);
    }
    for (const int32_t member : group) used_[static_cast<size_t>(member)] = 1;
    unused_ -= static_cast<int64_t>(group.size());
    order_.insert(order_.end(), group.begin(), group.end());
  }

  bool shares_text(int32_t candidate, const ExampleOrder& group) const {
    return std::any_of(text_ids_.begin(), text_ids_.end(), [&](const auto& ids) {
      const int32_t text = ids[static_cast<size_t>(candidate)];
      return std::any_of(group.begin(), group.end(),
                         [&](int32_t member) { return has_text(member, text); });
    });
  }

  bool has_text(int32_t member, int32_t text) const {
    return std::any_of(text_ids_.begin(), text_ids_.end(),
                       [&](const auto& ids) { return ids[static_cast<size_t>(member)] == text; });
  }

  bool is_used(int32_t example) const { return used_[static_cast<size_t>(example)] != 0; }

  static constexpr int64_t kUsualGroup = 8;

  const FindNeighbours& find_;
  const TextColumns& text_ids_;
  const OrderOptions& options_;
  std::vector<char> used_;
  int64_t unused_;
  ExampleOrder order_;
};

}  // namespace

ExampleOrder order_neighbours(int64_t examples, const FindNeighbours& find,
                              const TextColumns& text_ids, const OrderOptions& options,
                              uint64_t seed, uint64_t epoch) {
  ExampleOrder order = NeighbourGroups(examples, find, text_ids, options)
                           .follow(order_random(examples, seed, epoch));
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

OrderRow sequential_row() {
  return {"sequential", "as the data has them", OrderRow::kLabelledNegatives, nullptr,
          [](const OrderData& data) { return order_sequential(data.size()); }};
}

OrderRow random_row() {
  return {"random", "a random permutation", OrderRow::kLabelledNegatives, nullptr,
          [](const OrderData& data) { return order_random(data.size(), data.seed, data.epoch); }};
}

OrderRow length_bucketed_row() {
  const auto visit = [](OrderOptions& options, OptionVisitor& v) {
    v.field("pool_batches", options.pool_batches,
            {"batches whose examples are sorted by length together", "batches", 1});
  };
  const auto order = [](const OrderData& data) {
    return order_length_bucketed(data.lengths(), data.batch_size, data.options.pool_batches,
                                 data.seed, data.epoch);
  };
  return {"length_bucketed", "texts of like length in a batch", OrderRow::kLengths, visit, order};
}

OrderRow neighbours_row() {
  const auto visit = [](OrderOptions& options, OptionVisitor& v) {
    v.field("neighbours", options.neighbours,
            {"how many nearest examples may join a group", "examples", 1});
    v.field("allow_same", options.allow_same, {"whether a group may hold equal texts"});
    v.field("reverse", options.reverse,
            {"begin with the groups formed last, many of one example, as in curriculum learning"});
  };
  const auto order = [](const OrderData& data) {
    const NeighbourSearch search(data.vectors(),
                                 std::min(data.options.neighbours, data.size() - 1));
    data.tell(search.report());
    return order_neighbours(
        data.size(), [&search](const auto& examples) { return search.find(examples); },
        data.text_columns(false), data.options, data.seed, data.epoch);
  };
  return {"neighbours", "groups of examples that are near each other under the model",
          OrderRow::kGroups | OrderRow::kSide | OrderRow::kVectors | OrderRow::kLabelledNegatives,
          visit, order};
}

}  // namespace simile
