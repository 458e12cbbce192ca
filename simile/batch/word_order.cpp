// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/word_order.h"

#include <fmt/format.h>

#include <limits>

#include "simile/batch/detail/record_sort.h"
#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using detail::RecordSorter;
using detail::SortRecord;

void check_request(int64_t examples, const WordOrderOptions& options) {
  SIMILE_CHECK(
      examples >= 0 && examples <= std::numeric_limits<int32_t>::max(), ErrorKind::kFailed,
      fmt::format("order by words: {} examples; at most 2^31 - 1 can be ordered", examples));
  SIMILE_CHECK(
      options.group_size >= 1, ErrorKind::kFailed,
      fmt::format("order by words: group_size is {}; expected 1 or more", options.group_size));
  SIMILE_CHECK(
      options.memory_mb >= 1, ErrorKind::kFailed,
      fmt::format("order by words: memory_mb is {}; expected 1 or more", options.memory_mb));
}

// Gives groups their random numbers and sorts examples by them; within a group they stay in the
// order of adding.
class GroupSorter {
 public:
  GroupSorter(int64_t examples, int64_t memory_bytes, uint64_t seed, uint64_t epoch)
      : stream_(seed, "order groups", epoch), sorter_(examples, memory_bytes) {}

  void start_group() {
    const uint64_t high = stream_.next();
    group_ = high << 32 | stream_.next();
  }
  void add(int32_t example) { sorter_.add({group_, place_++, example}); }

  ExampleOrder take_order(int64_t examples) {
    ExampleOrder order;
    order.reserve(static_cast<size_t>(examples));
    sorter_.drain([&](const SortRecord& record) { order.push_back(record.example); });
    return order;
  }

 private:
  RandomStream stream_;
  RecordSorter sorter_;
  uint64_t group_ = 0;
  uint32_t place_ = 0;
};

// Cuts the runs of equal words, which come in order, into groups.
void cut_runs(RecordSorter& by_word, int64_t group_size, GroupSorter& groups) {
  int64_t size = 0;
  uint64_t word = 0;
  by_word.drain([&](const SortRecord& record) {
    if (size == 0 || size == group_size || record.key != word) {
      groups.start_group();
      size = 0;
    }
    groups.add(record.example);
    word = record.key;
    ++size;
  });
}

}  // namespace

ExampleOrder order_words(int64_t examples, const WordsOf& words_of, const WordOrderOptions& options,
                         uint64_t seed, uint64_t epoch) {
  check_request(examples, options);
  const int64_t share = options.memory_mb * (int64_t{1} << 19);  // both sorters are alive at once
  RandomStream draws(seed, "order words", epoch);
  GroupSorter groups(examples, share, seed, epoch);
  {
    RecordSorter by_word(examples, share);
    std::vector<uint64_t> words;
    for (int64_t example = 0; example < examples; ++example) {
      words.clear();
      words_of(example, words);
      if (words.empty()) {
        groups.start_group();
        groups.add(static_cast<int32_t>(example));
        continue;
      }
      const uint64_t word = words[static_cast<size_t>(draws.below(words.size()))];
      by_word.add({word, draws.next(), static_cast<int32_t>(example)});
    }
    cut_runs(by_word, options.group_size, groups);
  }
  return groups.take_order(examples);
}

}  // namespace simile
