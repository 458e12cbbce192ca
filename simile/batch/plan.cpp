// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simile/batch/order_table.h"
#include "simile/core/check.h"
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
                     [&](int32_t a, int32_t b) { return lengths[a] < lengths[b]; });
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
  // So few of the unused examples of the walk, from `at` on, that hardly any joins another's group.
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
    for (const int32_t member : group) used_[member] = 1;
    unused_ -= static_cast<int64_t>(group.size());
    order_.insert(order_.end(), group.begin(), group.end());
  }

  bool shares_text(int32_t candidate, const ExampleOrder& group) const {
    for (const auto& ids : text_ids_) {
      for (const auto& others : text_ids_) {
        for (const int32_t member : group) {
          const int32_t text = others[member];
          if (text == ids[candidate]) return true;
        }
      }
    }
    return false;
  }

  bool is_used(int32_t example) const { return used_[example] != 0; }

  static constexpr int64_t kUsualGroup = 8;

  const FindNeighbours& find_;
  const TextColumns& text_ids_;
  const OrderOptions& options_;
  std::vector<char> used_;
  int64_t unused_;
  ExampleOrder order_;
};

// The anchors of a batch by their first positives there. `seen` [anchors]: in which batch last met.
std::vector<size_t> anchors_of(const LabelledNegatives& negatives, const Batches& batches,
                               size_t number, std::vector<int64_t>& seen) {
  std::vector<size_t> anchors;
  for (const int32_t example : batches[number]) {
    if (!negatives.is_positive[example]) continue;
    const auto anchor = static_cast<size_t>(negatives.anchor[example]);
    if (negatives.of[anchor].empty() || seen[anchor] == static_cast<int64_t>(number)) continue;
    seen[anchor] = static_cast<int64_t>(number);
    anchors.push_back(anchor);
  }
  return anchors;
}

// How many of `turns` each share gets: rounded down, then one more for the largest remainders.
std::vector<int64_t> divide_turns(int64_t turns, const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  SIMILE_CHECK(*std::min_element(shares.begin(), shares.end()) >= 0 && sum > 0, ErrorKind::kRecipe,
               "mixing `shares`: expected shares of 0 or more, one of them above 0, found {}",
               fmt::join(shares, ", "));
  std::vector<int64_t> counts;
  std::vector<std::pair<double, size_t>> remainders;
  for (const double share : shares) {
    const double exact = static_cast<double>(turns) * share / sum;
    remainders.emplace_back(std::floor(exact) - exact, counts.size());
    counts.push_back(static_cast<int64_t>(std::floor(exact)));
  }
  std::sort(remainders.begin(), remainders.end());
  const int64_t given = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (int64_t i = 0; i < turns - given; ++i) ++counts[remainders[i].second];
  return counts;
}

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
    if (is_positive[i]) has_positive[anchor[i]] = 1;
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
    if (negatives.is_positive[i]) ++positives[negatives.anchor[i]];
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
  const int64_t count = count_filled_batches(negatives, most, batch_size);
  const auto examples = static_cast<int64_t>(order.size());
  std::vector<int32_t> sizes;  // which differ by at most one, the larger first
  for (int64_t i = 0; i < count; ++i) {
    sizes.push_back(static_cast<int32_t>(examples / count + (i < examples % count ? 1 : 0)));
  }
  filled.batches = cut_batches(order, sizes);
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
  return {"length_bucketed", "texts of similar length in a batch", OrderRow::kLengths, visit,
          order};
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

void MixingOptions::visit(OptionVisitor& v) {
  v.field("mixing", mixing,
          choice_info("how several objectives take turns: a batch of each in turn, batches drawn "
                      "in proportion to those left of each, one objective after the other, or "
                      "batches drawn by the objectives' shares",
                      {"round_robin", "proportional", "sequential", "shares"}));
  v.field("mixing_ends", mixing_ends,
          choice_info("round_robin: the epoch ends after the last batch of the objective with the "
                      "most batches, or with the fewest",
                      {"longest", "shortest"}));
}

std::vector<int32_t> mix_batches(const std::vector<int64_t>& batches,
                                 const std::vector<double>& shares, const MixingOptions& options,
                                 uint64_t seed, uint64_t epoch) {
  if (batches.empty()) return {};
  const auto [fewest, most] = std::minmax_element(batches.begin(), batches.end());
  SIMILE_CHECK(*fewest > 0, ErrorKind::kInput,
               "data set {} (numbered from 0) has no batches to mix with the others",
               fewest - batches.begin());
  std::vector<int32_t> turns;
  if (options.mixing == "round_robin") {
    const int64_t rounds = options.mixing_ends == "longest" ? *most : *fewest;
    for (int64_t round = 0; round < rounds; ++round) {
      for (size_t set = 0; set < batches.size(); ++set) turns.push_back(static_cast<int32_t>(set));
    }
    return turns;
  }
  const bool by_shares = options.mixing == "shares";
  const int64_t all = std::accumulate(batches.begin(), batches.end(), int64_t{0});
  const std::vector<int64_t> counts = by_shares ? divide_turns(all, shares) : batches;
  for (size_t set = 0; set < counts.size(); ++set) {
    turns.insert(turns.end(), static_cast<size_t>(counts[set]), static_cast<int32_t>(set));
  }
  if (by_shares || options.mixing == "proportional") {
    RandomStream stream(seed, "mixing", epoch);
    shuffle(turns, stream);  // draws each turn from what is left
  }
  return turns;
}

}  // namespace simile
