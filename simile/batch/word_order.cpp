// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/word_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

// An example with what it is sorted by: key, then tie, then its own number.
struct Record {
  uint64_t key;
  uint32_t tie;
  int32_t example;

  bool operator<(const Record& other) const {
    return std::tie(key, tie, example) < std::tie(other.key, other.tie, other.example);
  }
};

using Records = std::vector<Record>;

void check_request(int64_t examples, int64_t group_size) {
  SIMILE_CHECK(
      examples >= 0 && examples <= std::numeric_limits<int32_t>::max(), ErrorKind::kFailed,
      fmt::format("order by words: {} examples; at most 2^31 - 1 can be ordered", examples));
  SIMILE_CHECK(group_size >= 1, ErrorKind::kFailed,
               fmt::format("order by words: group_size is {}; expected 1 or more", group_size));
}

// Gives groups their random numbers, by which their examples are sorted; within a group these stay
// in the order of adding.
class Groups {
 public:
  Groups(int64_t examples, uint64_t seed, uint64_t epoch) : stream_(seed, "order groups", epoch) {
    records_.reserve(static_cast<size_t>(examples));
  }

  void start() {
    const uint64_t high = stream_.next();
    group_ = high << 32 | stream_.next();
  }
  void add(int32_t example) {
    records_.push_back({group_, static_cast<uint32_t>(records_.size()), example});
  }

  ExampleOrder take_order() {
    std::sort(records_.begin(), records_.end());
    ExampleOrder order;
    order.reserve(records_.size());
    for (const Record& record : records_) order.push_back(record.example);
    return order;
  }

 private:
  RandomStream stream_;
  Records records_;
  uint64_t group_ = 0;
};

// Cuts the runs of equal words into groups.
void cut_runs(Records by_word, int64_t group_size, Groups& groups) {
  std::sort(by_word.begin(), by_word.end());
  int64_t size = 0;
  uint64_t word = 0;
  for (const Record& record : by_word) {
    if (size == 0 || size == group_size || record.key != word) {
      groups.start();
      size = 0;
    }
    groups.add(record.example);
    word = record.key;
    ++size;
  }
}

}  // namespace

ExampleOrder order_words(int64_t examples, const WordsOf& words_of, int64_t group_size,
                         uint64_t seed, uint64_t epoch) {
  check_request(examples, group_size);
  RandomStream draws(seed, "order words", epoch);
  Groups groups(examples, seed, epoch);
  Records by_word;
  by_word.reserve(static_cast<size_t>(examples));
  std::vector<uint64_t> words;
  for (int64_t example = 0; example < examples; ++example) {
    words.clear();
    words_of(example, words);
    if (words.empty()) {
      groups.start();
      groups.add(static_cast<int32_t>(example));
      continue;
    }
    const uint64_t word = words[static_cast<size_t>(draws.below(words.size()))];
    by_word.push_back({word, draws.next(), static_cast<int32_t>(example)});
  }
  cut_runs(std::move(by_word), group_size, groups);
  return groups.take_order();
}

}  // namespace simile
