// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/word_counter.h"

#include <algorithm>
#include <functional>

namespace simile::detail {
namespace {

uint32_t hash_of(std::string_view word) {
  const size_t hash = std::hash<std::string_view>()(word);
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

void WordCounter::grow() {
  slots_.assign(std::max<size_t>(1024, slots_.size() * 2), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < words_.size(); ++i) {
    size_t slot = words_[i].tag & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

void WordCounter::add(std::string_view word, int64_t count) {
  if (words_.size() * 2 >= slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  const uint32_t tag = hash_of(word);
  size_t slot = tag & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    Word& known = words_[slots_[slot] - 1];
    if (known.tag == tag && text(known) == word) {
      known.count += count;
      return;
    }
  }
  words_.push_back({arena_.size(), static_cast<uint32_t>(word.size()), tag, count});
  arena_ += word;
  slots_[slot] = static_cast<uint32_t>(words_.size());
}

void WordCounter::add_all(const WordCounter& other) {
  for (const Word& word : other.words_) add(other.text(word), word.count);
}

std::vector<std::pair<std::string_view, int64_t>> WordCounter::sorted() const {
  std::vector<std::pair<std::string_view, int64_t>> result;
  result.reserve(words_.size());
  for (const Word& word : words_) result.emplace_back(text(word), word.count);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace simile::detail
