// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/merge_table.h"

#include <algorithm>

namespace simile::detail {
namespace {

// Up to here looking at all pairs is faster than keeping them in a heap.
constexpr size_t kShortWord = 48;
constexpr size_t kKeptSymbols = size_t{1} << 16;

}  // namespace

void MergeTable::reserve(size_t merges) {
  size_t count = 64;
  shift_ = 58;
  while (count < merges * 2) {
    count *= 2;
    --shift_;
  }
  slots_.assign(count, {});
  mask_ = count - 1;
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t slot = slot_of(key);
  while (slots_[slot].merge.exists() && slots_[slot].key != key) slot = (slot + 1) & mask_;
  slots_[slot] = {key, merge};
}

void MergeTable::apply(std::vector<MergeSymbol>& symbols) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortWord) {
    apply_short(symbols);
  } else {
    apply_long(symbols);
  }
}

void MergeTable::apply_short(std::vector<MergeSymbol>& symbols) const {
  Merge merges[kShortWord];  // of symbol i and the next
  size_t size = symbols.size();
  for (size_t i = 0; i + 1 < size; ++i) merges[i] = find(symbols[i].id, symbols[i + 1].id);
  while (size > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < size; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (!merges[best].exists()) break;
    symbols[best] = {merges[best].id, symbols[best].size + symbols[best + 1].size};
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              symbols.begin() + static_cast<std::ptrdiff_t>(size),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --size;
    std::copy(merges + best + 1, merges + size, merges + best);
    if (best + 1 < size) merges[best] = find(symbols[best].id, symbols[best + 1].id);
    if (best > 0) merges[best - 1] = find(symbols[best - 1].id, symbols[best].id);
  }
  symbols.resize(size);
}

namespace {

// A merge that may be done at symbol `at`; those of smallest rank come first, of these the
// leftmost.
struct Candidate {
  uint32_t rank;
  uint32_t at;
  int32_t id;
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : at > other.at;
  }
};

struct LongWord {
  std::vector<Candidate> heap;
  std::vector<int32_t> previous;
  std::vector<int32_t> next;  // -1 at the end
};

}  // namespace

void MergeTable::apply_long(std::vector<MergeSymbol>& symbols) const {
  thread_local LongWord word;
  const auto size = static_cast<int32_t>(symbols.size());
  word.heap.clear();
  word.previous.resize(symbols.size());
  word.next.resize(symbols.size());
  for (int32_t i = 0; i < size; ++i) {
    word.previous[i] = i - 1;
    word.next[i] = i + 1 < size ? i + 1 : -1;
    if (i + 1 == size) break;
    const Merge merge = find(symbols[i].id, symbols[i + 1].id);
    if (merge.exists()) word.heap.push_back({merge.rank, static_cast<uint32_t>(i), merge.id});
  }
  std::make_heap(word.heap.begin(), word.heap.end());
  const auto push = [&](int32_t left) {
    const Merge merge = find(symbols[left].id, symbols[word.next[left]].id);
    if (!merge.exists()) return;
    word.heap.push_back({merge.rank, static_cast<uint32_t>(left), merge.id});
    std::push_heap(word.heap.begin(), word.heap.end());
  };
  while (!word.heap.empty()) {
    std::pop_heap(word.heap.begin(), word.heap.end());
    const Candidate candidate = word.heap.back();
    word.heap.pop_back();
    const auto left = static_cast<int32_t>(candidate.at);
    const int32_t right = word.next[left];
    if (symbols[left].size == 0 || right < 0) continue;
    // The symbols may have changed since.
    const Merge merge = find(symbols[left].id, symbols[right].id);
    if (merge.id != candidate.id) continue;
    symbols[left] = {merge.id, symbols[left].size + symbols[right].size};
    symbols[right].size = 0;
    const int32_t after = word.next[right];
    word.next[left] = after;
    if (after >= 0) {
      word.previous[after] = left;
      push(left);
    }
    if (word.previous[left] >= 0) push(word.previous[left]);
  }
  symbols.erase(std::remove_if(symbols.begin(), symbols.end(),
                               [](const MergeSymbol& symbol) { return symbol.size == 0; }),
                symbols.end());
  if (symbols.capacity() > kKeptSymbols) word = LongWord();
}

}  // namespace simile::detail
