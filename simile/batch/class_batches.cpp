// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <queue>
#include <tuple>

#include "simile/batch/order_table.h"
#include "simile/core/check.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using Group = std::vector<int32_t>;

void check_sizes(int64_t group_size, int64_t batch_size) {
  SIMILE_CHECK(group_size >= 1 && batch_size >= 1, ErrorKind::kFailed,
               "order by classes: group_size {} and batch_size {}; expected 1 or more", group_size,
               batch_size);
}

int64_t groups_in_batch(int64_t group_size, int64_t batch_size) {
  return std::max<int64_t>(1, batch_size / group_size);
}

int64_t count_groups(int64_t examples, int64_t group_size) {
  return (examples + group_size - 1) / group_size;
}

// The examples of each class, in this order.
std::vector<Group> split_by_class(const ExampleOrder& order, const std::vector<int32_t>& classes) {
  std::vector<Group> split;
  for (const int32_t example : order) {
    const auto number = static_cast<size_t>(classes[example]);
    if (number >= split.size()) split.resize(number + 1);
    split[number].push_back(example);
  }
  return split;
}

// Groups of one class that no batch has taken yet.
struct ClassQueue {
  int64_t left = 0;
  uint64_t tie = 0;
  size_t number = 0;  // of the class

  bool operator<(const ClassQueue& other) const {
    return std::tie(left, tie, number) < std::tie(other.left, other.tie, other.number);
  }
};

class BatchFiller {
 public:
  BatchFiller(std::vector<Group> classes, int64_t group_size, uint64_t seed, uint64_t epoch)
      : classes_(std::move(classes)), ties_(seed, "order classes", epoch) {
    for (size_t number = 0; number < classes_.size(); ++number) {
      const auto size = static_cast<int64_t>(classes_[number].size());
      groups_.push_back(count_groups(size, group_size));
      push(number, groups_[number]);
    }
  }

  bool is_done() const { return waiting_.empty(); }

  Group fill(int64_t groups) {
    Group batch;
    std::vector<ClassQueue> taken;
    for (int64_t g = 0; g < groups; ++g) {
      if (waiting_.empty()) put_back(taken);  // fewer classes than groups: they come again
      if (waiting_.empty()) break;
      ClassQueue next = waiting_.top();
      waiting_.pop();
      append_group(next, batch);
      --next.left;
      taken.push_back(next);
    }
    put_back(taken);
    return batch;
  }

 private:
  void push(size_t number, int64_t left) {
    if (left > 0) waiting_.push({left, ties_.next(), number});
  }

  void put_back(std::vector<ClassQueue>& taken) {
    for (const ClassQueue& queue : taken) push(queue.number, queue.left);
    taken.clear();
  }

  void append_group(const ClassQueue& queue, Group& batch) const {
    const Group& examples = classes_[queue.number];
    const auto size = static_cast<int64_t>(examples.size());
    const int64_t all = groups_[queue.number], place = all - queue.left;
    batch.insert(batch.end(), examples.begin() + place * size / all,
                 examples.begin() + (place + 1) * size / all);
  }

  std::vector<Group> classes_;
  std::vector<int64_t> groups_;  // of each class, in all
  RandomStream ties_;
  std::priority_queue<ClassQueue> waiting_;
};

void check_classes(const OrderData& data) {
  SIMILE_CHECK(!data.classes.empty(), ErrorKind::kRecipe,
               "{}: order `classes` needs the class of each example, and the data has "
               "none; read it with `format: classes`, or choose another order",
               data.file);
  SIMILE_CHECK(data.batch_size >= 2 * data.options.group_size, ErrorKind::kRecipe,
               "{}: order `classes` with batch_size {} and order.group_size {} puts one class into "
               "a batch, which needs two; set group_size to {} at most, or a larger batch_size",
               data.file, data.batch_size, data.options.group_size,
               std::max<int64_t>(1, data.batch_size / 2));
}

}  // namespace

int64_t count_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                            int64_t batch_size) {
  check_sizes(group_size, batch_size);
  int64_t groups = 0;
  for (const Group& examples :
       split_by_class(order_sequential(static_cast<int64_t>(classes.size())), classes)) {
    groups += count_groups(static_cast<int64_t>(examples.size()), group_size);
  }
  const int64_t together = groups_in_batch(group_size, batch_size);
  return (groups + together - 1) / together;
}

Batches plan_class_batches(const std::vector<int32_t>& classes, int64_t group_size,
                           int64_t batch_size, uint64_t seed, uint64_t epoch) {
  check_sizes(group_size, batch_size);
  const ExampleOrder order = order_random(static_cast<int64_t>(classes.size()), seed, epoch);
  BatchFiller filler(split_by_class(order, classes), group_size, seed, epoch);
  Batches batches;
  while (!filler.is_done()) batches.push_back(filler.fill(groups_in_batch(group_size, batch_size)));
  RandomStream random(seed, "order class batches", epoch);
  shuffle(batches, random);
  return batches;
}

OrderRow classes_row() {
  const auto plan = [](const OrderData& data, int64_t) {
    return plan_class_batches(data.classes, data.options.group_size, data.batch_size, data.seed,
                              data.epoch);
  };
  const auto count = [](const OrderData& data) {
    return count_class_batches(data.classes, data.options.group_size, data.batch_size);
  };
  return {"classes",
          "several classes in a batch, with group_size examples each",
          OrderRow::kGroups,
          nullptr,
          nullptr,
          plan,
          count,
          check_classes};
}

}  // namespace simile
