// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "simile/batch/order_table.h"
#include "simile/core/random.h"

namespace simile {
namespace {

constexpr int kTries = 4;

// The texts of each example that other examples hold too: no others can meet.
class RepeatedTexts {
 public:
  explicit RepeatedTexts(const TextColumns& text_ids) : begin_(text_ids[0].size() + 1) {
    count(text_ids);
    std::vector<int32_t> own;
    for (size_t example = 0; example < begin_.size() - 1; ++example) {
      collect(text_ids, example, own);
      for (const int32_t text : own) {
        if (frequency(text) > 1) texts_.push_back(text);
      }
      begin_[example + 1] = texts_.size();
      std::sort(texts_.begin() + begin_[example], texts_.end(), [&](int32_t a, int32_t b) {
        return std::make_pair(-frequency(a), a) < std::make_pair(-frequency(b), b);
      });
    }
  }

  int64_t examples() const { return static_cast<int64_t>(begin_.size()) - 1; }
  size_t occurrences() const { return texts_.size(); }
  int32_t frequency(int32_t text) const { return frequency_[text]; }
  size_t texts() const { return frequency_.size(); }
  int64_t greatest_frequency() const {
    return *std::max_element(frequency_.begin(), frequency_.end());
  }

  // The most frequent first.
  const int32_t* begin(int32_t example) const { return texts_.data() + begin_[example]; }
  const int32_t* end(int32_t example) const { return begin(example + 1); }

 private:
  // The distinct texts of an example.
  static void collect(const TextColumns& text_ids, size_t example, std::vector<int32_t>& own) {
    own.clear();
    for (const auto& column : text_ids) {
      if (std::count(own.begin(), own.end(), column[example]) == 0) own.push_back(column[example]);
    }
  }

  void count(const TextColumns& text_ids) {
    int32_t last = -1;
    for (const auto& column : text_ids) {
      for (const int32_t text : column) last = std::max(last, text);
    }
    frequency_.resize(static_cast<size_t>(last) + 1);
    std::vector<int32_t> own;
    for (size_t example = 0; example < begin_.size() - 1; ++example) {
      collect(text_ids, example, own);
      for (const int32_t text : own) ++frequency_[text];
    }
  }

  std::vector<size_t> begin_;  // [examples + 1] into texts_
  std::vector<int32_t> texts_;
  std::vector<int32_t> frequency_;  // [texts] examples that hold it
};

// Which batch holds which text: a table of open addresses, never emptied.
class TextsOfBatches {
 public:
  explicit TextsOfBatches(size_t entries) {
    while ((size_t{1} << bits_) < 2 * entries) ++bits_;
    slots_.resize(size_t{1} << bits_);
  }
  bool contains(int32_t text, int32_t batch) const { return slots_[find(key(text, batch))] != 0; }
  void insert(int32_t text, int32_t batch) {
    const uint64_t entry = key(text, batch);
    slots_[find(entry)] = entry;
  }

 private:
  static uint64_t key(int32_t text, int32_t batch) {
    return (static_cast<uint64_t>(text) + 1) << 32 | static_cast<uint32_t>(batch);
  }
  // The slot that holds `entry`, or the empty one where it belongs.
  size_t find(uint64_t entry) const {
    uint64_t hash = entry * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    size_t slot = (hash * 0xBF58476D1CE4E5B9u) >> (64 - bits_);
    while (slots_[slot] != 0 && slots_[slot] != entry) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  int bits_ = 4;
  std::vector<uint64_t> slots_;
};

// The examples in the order of their placement.
ExampleOrder order_by_constraint(const RepeatedTexts& texts, RandomStream& stream) {
  struct Item {
    int32_t frequency, text_rank, second, example;
  };
  ExampleOrder order = order_sequential(texts.examples()), free;
  shuffle(order, stream);
  std::vector<int32_t> rank(texts.texts(), -1);  // of a text: when it first comes in random order
  std::vector<Item> items;
  for (const int32_t example : order) {
    const int32_t* first = texts.begin(example);
    if (first == texts.end(example)) {
      free.push_back(example);
      continue;
    }
    int32_t& place = rank[*first];
    if (place < 0) place = static_cast<int32_t>(items.size());
    const int32_t second = first + 1 < texts.end(example) ? texts.frequency(first[1]) : 0;
    items.push_back({-texts.frequency(*first), place, -second, example});
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::tie(a.frequency, a.text_rank, a.second) <
           std::tie(b.frequency, b.text_rank, b.second);
  });
  order.clear();
  for (const Item& item : items) order.push_back(item.example);
  order.insert(order.end(), free.begin(), free.end());
  return order;
}

// Batches in a circle. In each round every batch that has room takes one example, as far as the
// texts allow; [0, next_) have had theirs.
class Circle {
 public:
  Circle(const RepeatedTexts& texts, int64_t batches, int64_t batch_size)
      : texts_(texts),
        batch_size_(static_cast<size_t>(batch_size)),
        held_(texts.occurrences()),
        batches_(static_cast<size_t>(batches)),
        open_(order_sequential(batches)) {}

  bool place(int32_t example) {
    for (size_t i = next_; i < open_.size(); ++i) {
      if (fits(example, open_[i])) return put(example, i), true;
    }
    for (size_t i = 0; i < next_; ++i) {
      if (fits(example, open_[i])) return put(example, i), true;
    }
    return false;
  }

  void add_batch() {
    open_.push_back(static_cast<int32_t>(batches_.size()));
    batches_.emplace_back();
  }

  Batches& batches() { return batches_; }

 private:
  bool is_full(int32_t batch) const { return batches_[batch].size() == batch_size_; }
  bool fits(int32_t example, int32_t batch) const {
    if (is_full(batch)) return false;
    return std::none_of(texts_.begin(example), texts_.end(example),
                        [&](int32_t text) { return held_.contains(text, batch); });
  }
  // A batch that was skipped stays next in turn.
  void put(int32_t example, size_t place) {
    const int32_t batch = open_[place];
    batches_[batch].push_back(example);
    for (const int32_t* text = texts_.begin(example); text != texts_.end(example); ++text) {
      held_.insert(*text, batch);
    }
    if (place >= next_) std::swap(open_[place], open_[next_++]);
    if (next_ < open_.size()) return;
    next_ = 0;
    open_.erase(
        std::remove_if(open_.begin(), open_.end(), [&](int32_t each) { return is_full(each); }),
        open_.end());
  }

  const RepeatedTexts& texts_;
  size_t batch_size_;
  TextsOfBatches held_;
  Batches batches_;
  std::vector<int32_t> open_;
  size_t next_ = 0;
};

// The placement that decides the number of batches.
RandomStream fixed_stream() { return RandomStream(0, "number of batches without duplicates"); }

std::optional<Batches> try_placement(const RepeatedTexts& texts, int64_t batch_size, int64_t count,
                                     RandomStream& stream) {
  Circle circle(texts, count, batch_size);
  for (const int32_t example : order_by_constraint(texts, stream)) {
    if (!circle.place(example)) return std::nullopt;
  }
  return std::move(circle.batches());
}

// Examples with the same repeated texts change places at random.
void exchange_equal_examples(const RepeatedTexts& texts, RandomStream& stream, Batches& batches) {
  ExampleOrder sorted = order_sequential(texts.examples());
  const auto compare = [&](int32_t a, int32_t b) {
    return std::lexicographical_compare(texts.begin(a), texts.end(a), texts.begin(b), texts.end(b));
  };
  std::stable_sort(sorted.begin(), sorted.end(), compare);
  ExampleOrder successor(sorted.size());
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() && !compare(sorted[begin], sorted[end])) ++end;
    std::vector<int32_t> equal(sorted.begin() + begin, sorted.begin() + end);
    shuffle(equal, stream);
    for (size_t i = begin; i < end; ++i) successor[sorted[i]] = equal[i - begin];
  }
  for (auto& batch : batches) {
    for (int32_t& example : batch) example = successor[example];
  }
}

Batches place_all(const RepeatedTexts& texts, int64_t batch_size, int64_t count,
                  RandomStream& stream) {
  for (int i = 0; i < kTries; ++i) {
    std::optional<Batches> batches = try_placement(texts, batch_size, count, stream);
    if (batches) return *std::move(batches);
  }
  RandomStream fixed = fixed_stream();
  Batches batches = try_placement(texts, batch_size, count, fixed).value();
  exchange_equal_examples(texts, stream, batches);
  return batches;
}

}  // namespace

int64_t count_distinct_batches(const TextColumns& text_ids, int64_t batch_size) {
  const RepeatedTexts texts(text_ids);
  if (texts.examples() == 0) return 0;
  RandomStream stream = fixed_stream();
  const ExampleOrder order = order_by_constraint(texts, stream);
  int64_t count =
      std::max((texts.examples() + batch_size - 1) / batch_size, texts.greatest_frequency());
  for (;;) {
    Circle circle(texts, count, batch_size);
    for (const int32_t example : order) {
      if (circle.place(example)) continue;
      circle.add_batch();
      circle.place(example);
    }
    const auto needed = static_cast<int64_t>(circle.batches().size());
    if (needed == count) return count;
    count = needed;  // from the start, so that the new batches are filled like the others
  }
}

Batches plan_distinct_batches(const TextColumns& text_ids, int64_t batch_size, int64_t count,
                              uint64_t seed, uint64_t epoch) {
  const RepeatedTexts texts(text_ids);
  if (texts.examples() == 0) return {};
  RandomStream stream(seed, "batches without duplicates", epoch);
  Batches batches = place_all(texts, batch_size, count, stream);
  shuffle(batches, stream);
  for (auto& batch : batches) shuffle(batch, stream);
  return batches;
}

OrderRow no_duplicates_row() {
  const auto plan = [](const OrderData& data, int64_t count) {
    return plan_distinct_batches(data.text_columns(true), data.batch_size, count, data.seed,
                                 data.epoch);
  };
  const auto count = [](const OrderData& data) {
    return count_distinct_batches(data.text_columns(true), data.batch_size);
  };
  return {"no_duplicates",
          "no text twice in a batch",
          OrderRow::kDistinctTexts,
          nullptr,
          nullptr,
          plan,
          count};
}

}  // namespace simile
