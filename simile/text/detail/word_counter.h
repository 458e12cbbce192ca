// SPDX-License-Identifier: Apache-2.0
// How often each word occurs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simile::detail {

class WordCounter {
 public:
  void add(std::string_view word, int64_t count);
  void add_all(const WordCounter& other);
  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  // All words in the order of their bytes, with their counts. Valid while the counter lives
  // unchanged.
  std::vector<std::pair<std::string_view, int64_t>> sorted() const;

 private:
  struct Word {
    uint64_t begin = 0;  // in arena_
    uint32_t size = 0;
    uint32_t tag = 0;  // part of the hash
    int64_t count = 0;
  };

  std::string_view text(const Word& word) const {
    return std::string_view(arena_).substr(word.begin, word.size);
  }
  void grow();

  std::string arena_;
  std::vector<Word> words_;
  std::vector<uint32_t>
      slots_;  // open addressing, a power of two; number of the word + 1, 0 is free
};

}  // namespace simile::detail
