// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/unigram_seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "simile/core/error.h"
#include "simile/text/unicode.h"

namespace simile::detail {
namespace {

constexpr uint32_t kMaxCharacters = 16;
constexpr uint32_t kKeyCharacters = 3;
constexpr uint32_t kSymbolBits = 21;

// A place in the symbols, with its first characters for fast comparison.
struct Suffix {
  uint64_t key;
  uint32_t place;
};

struct Candidate {
  uint32_t place;  // of one occurrence
  uint32_t size;   // characters
  int64_t count;
  int64_t weight() const { return count * size; }
};

// All words as numbers of characters, 1 for the first of the alphabet; 0 ends each word and stands
// for characters outside the alphabet.
class Symbols {
 public:
  Symbols(const CountedWords& words, const std::vector<char32_t>& alphabet) {
    std::unordered_map<char32_t, uint32_t> numbers;
    for (const char32_t c : alphabet) numbers.emplace(c, numbers.size() + 1);
    for (const auto& entry : words) {
      const int64_t count = entry.second;
      visit_characters(entry.first, [&](size_t, char32_t c) {
        const auto found = numbers.find(c);
        add(found == numbers.end() ? 0 : found->second, count);
      });
      add(0, 0);
    }
    for (uint32_t i = 0; i < kMaxCharacters; ++i) add(0, 0);
    SIMILE_CHECK(symbols_.size() < std::numeric_limits<uint32_t>::max(), ErrorKind::kInput,
                 "the different words of the texts have more than 4 billion characters; give "
                 "fewer texts");
  }

  size_t size() const { return symbols_.size() - kMaxCharacters; }
  uint32_t operator[](size_t place) const { return symbols_[place]; }
  int64_t count(size_t place) const { return counts_[place]; }

  // Characters up to the end of the word, at most kMaxCharacters.
  uint32_t length(uint32_t place) const {
    uint32_t size = 0;
    while (size < kMaxCharacters && symbols_[place + size] != 0) ++size;
    return size;
  }
  // Characters that both places begin with.
  uint32_t common(uint32_t a, uint32_t b) const {
    uint32_t size = 0;
    while (size < kMaxCharacters && symbols_[a + size] != 0 &&
           symbols_[a + size] == symbols_[b + size]) {
      ++size;
    }
    return size;
  }
  bool less(uint32_t a, uint32_t b) const {
    const uint32_t same = common(a, b);
    if (same == kMaxCharacters || symbols_[a + same] == symbols_[b + same]) return a < b;
    return symbols_[a + same] < symbols_[b + same];
  }
  uint64_t key(uint32_t place) const {
    uint64_t key = 0;
    bool ended = false;
    for (uint32_t i = 0; i < kKeyCharacters; ++i) {
      ended |= symbols_[place + i] == 0;
      key = key << kSymbolBits | (ended ? 0 : symbols_[place + i]);
    }
    return key;
  }

 private:
  void add(uint32_t symbol, int64_t count) {
    symbols_.push_back(symbol);
    counts_.push_back(count);
  }

  std::vector<uint32_t> symbols_;
  std::vector<int64_t> counts_;
};

std::vector<Suffix> sort_suffixes(const Symbols& symbols) {
  std::vector<Suffix> suffixes;
  for (uint32_t place = 0; place < symbols.size(); ++place) {
    if (symbols[place] != 0) suffixes.push_back({symbols.key(place), place});
  }
  std::sort(suffixes.begin(), suffixes.end(), [&](const Suffix& a, const Suffix& b) {
    return a.key != b.key ? a.key < b.key : symbols.less(a.place, b.place);
  });
  return suffixes;
}

// Visits the nodes of the suffix tree from left to right, each after its children.
std::vector<Candidate> find_candidates(const Symbols& symbols,
                                       const std::vector<Suffix>& suffixes) {
  std::vector<Candidate> found;
  std::vector<Candidate> path;
  for (size_t i = 0; i < suffixes.size(); ++i) {
    const uint32_t place = suffixes[i].place;
    const uint32_t size = symbols.length(place);
    if (!path.empty() && path.back().size == size) {  // the same suffix once more
      path.back().count += symbols.count(place);
    } else {
      path.push_back({place, size, symbols.count(place)});
    }
    const uint32_t common =
        i + 1 < suffixes.size() ? symbols.common(place, suffixes[i + 1].place) : 0;
    while (!path.empty() && path.back().size > common) {
      const Candidate node = path.back();
      path.pop_back();
      if (node.size > 1 && node.count > 1) found.push_back(node);
      if (!path.empty() && path.back().size >= common) {
        path.back().count += node.count;
      } else if (common > 0) {
        path.push_back({node.place, common, node.count});
      }
    }
  }
  return found;
}

}  // namespace

std::vector<SeedPiece> find_seed_pieces(const CountedWords& words,
                                        const std::vector<char32_t>& alphabet, size_t limit) {
  const Symbols symbols(words, alphabet);
  std::vector<int64_t> counts(alphabet.size() + 1);
  for (size_t place = 0; place < symbols.size(); ++place) {
    counts[symbols[place]] += symbols.count(place);
  }
  std::vector<SeedPiece> pieces;
  for (size_t i = 0; i < alphabet.size(); ++i) {
    if (counts[i + 1] == 0) continue;
    pieces.push_back({"", counts[i + 1], true});
    append_utf8(alphabet[i], pieces.back().text);
  }
  std::vector<Candidate> candidates = find_candidates(symbols, sort_suffixes(symbols));
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.weight() > b.weight(); });
  candidates.resize(std::min(candidates.size(), limit));
  for (const Candidate& candidate : candidates) {
    SeedPiece piece{"", candidate.count, false};
    for (uint32_t i = 0; i < candidate.size; ++i) {
      append_utf8(alphabet[symbols[candidate.place + i] - 1], piece.text);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace simile::detail
