// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/text/detail/vocabulary_learning.h"
#include "simile/text/token_model.h"
#include "simile/text/utf8.h"

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

// All words as numbers of characters, 1 for the first of the alphabet; 0 ends each word and
// replaces characters outside the alphabet.
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
                 "the different words have more than 4 billion characters; give fewer texts");
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

// Visits the nodes of the suffix tree from left to right, each after its children.
std::vector<Candidate> find_candidates(const Symbols& symbols) {
  std::vector<Suffix> suffixes;
  for (uint32_t place = 0; place < symbols.size(); ++place) {
    if (symbols[place] != 0) suffixes.push_back({symbols.key(place), place});
  }
  std::sort(suffixes.begin(), suffixes.end(), [&](const Suffix& a, const Suffix& b) {
    return a.key != b.key ? a.key < b.key : symbols.less(a.place, b.place);
  });
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

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 1 << 20;  // sums are whole numbers of 1 / kUnit
constexpr size_t kWordsPerTask = 256;

// log(exp(a) + exp(b))
double add_logs(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -kInfinity || a - b > 50 ? a : a + std::log1p(std::exp(b - a));
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
  std::vector<Candidate> candidates = find_candidates(symbols);
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

UnigramEstimator::UnigramEstimator(const CountedWords& words,
                                   const std::vector<ScoredPiece>& pieces)
    : words_(words), pieces_(pieces) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (const ScoredPiece& piece : pieces) {
    entries.emplace_back(piece.text, static_cast<int32_t>(entries.size()));
    unknown_score_ = std::min(unknown_score_, piece.score);
  }
  trie_ = PieceTrie(std::move(entries));
  unknown_score_ -= kUnknownPenalty;
}

void UnigramEstimator::list_edges(std::string_view word, int32_t without,
                                  std::vector<Edge>& edges) const {
  edges.clear();
  for (size_t begin = 0; begin < word.size();) {
    const size_t single_end = begin + decode_valid_character(word, begin).size;
    bool has_single = false;
    PieceTrie::Cursor cursor(trie_);
    for (size_t end = begin; end < word.size() && cursor.descend(word[end]);) {
      ++end;
      const int32_t piece = cursor.piece();
      if (piece < 0 || piece == without) continue;
      edges.push_back(
          {static_cast<uint32_t>(begin), static_cast<uint32_t>(end), piece, pieces_[piece].score});
      has_single |= end == single_end;
    }
    if (!has_single) {
      edges.push_back(
          {static_cast<uint32_t>(begin), static_cast<uint32_t>(single_end), -1, unknown_score_});
    }
    begin = single_end;
  }
}

double UnigramEstimator::find_best(std::string_view word, int32_t without, Workspace& work,
                                   std::vector<int32_t>& used) const {
  list_edges(word, without, work.edges);
  work.forward.assign(word.size() + 1, -kInfinity);
  work.from.assign(word.size() + 1, -1);
  work.forward[0] = 0;
  for (size_t i = 0; i < work.edges.size(); ++i) {
    const Edge& edge = work.edges[i];
    const double score = work.forward[edge.begin] + edge.score;
    if (score > work.forward[edge.end]) {
      work.forward[edge.end] = score;
      work.from[edge.end] = static_cast<int32_t>(i);
    }
  }
  used.clear();
  for (size_t end = word.size(); end > 0;) {
    const Edge& edge = work.edges[work.from[end]];
    used.push_back(edge.piece);
    end = edge.begin;
  }
  return work.forward[word.size()];
}

template <typename AddWord>
std::vector<double> UnigramEstimator::sum_words(const AddWord& add_word) const {
  std::vector<std::vector<int64_t>> sums(omp_get_max_threads());
  std::vector<Workspace> workspaces(sums.size());
  const size_t tasks = (words_.size() + kWordsPerTask - 1) / kWordsPerTask;
  run_parallel(tasks, 16, [&](size_t task) {
    const auto thread = static_cast<size_t>(omp_get_thread_num());
    sums[thread].resize(pieces_.size());
    const size_t end = std::min(words_.size(), (task + 1) * kWordsPerTask);
    for (size_t i = task * kWordsPerTask; i < end; ++i) {
      add_word(words_[i].first, words_[i].second, workspaces[thread], sums[thread]);
    }
  });
  std::vector<int64_t> total(pieces_.size());
  for (const std::vector<int64_t>& part : sums) {
    for (size_t i = 0; i < part.size(); ++i) total[i] += part[i];
  }
  std::vector<double> counts;
  for (const int64_t sum : total) counts.push_back(static_cast<double>(sum) / kUnit);
  return counts;
}

std::vector<double> UnigramEstimator::expected_counts() const {
  return sum_words(
      [&](std::string_view word, int64_t count, Workspace& work, std::vector<int64_t>& sums) {
        list_edges(word, -1, work.edges);
        work.forward.assign(word.size() + 1, -kInfinity);
        work.backward.assign(word.size() + 1, -kInfinity);
        work.forward[0] = 0;
        work.backward[word.size()] = 0;
        for (const Edge& edge : work.edges) {
          double& reached = work.forward[edge.end];
          reached = add_logs(reached, work.forward[edge.begin] + edge.score);
        }
        for (size_t i = work.edges.size(); i-- > 0;) {
          const Edge& edge = work.edges[i];
          double& left = work.backward[edge.begin];
          left = add_logs(left, work.backward[edge.end] + edge.score);
        }
        const double whole = work.forward[word.size()];
        for (const Edge& edge : work.edges) {
          if (edge.piece < 0) continue;
          const double share =
              std::exp(work.forward[edge.begin] + edge.score + work.backward[edge.end] - whole);
          sums[edge.piece] += std::llround(share * static_cast<double>(count) * kUnit);
        }
      });
}

std::vector<double> UnigramEstimator::best_counts() const {
  return sum_words(
      [&](std::string_view word, int64_t count, Workspace& work, std::vector<int64_t>& sums) {
        thread_local std::vector<int32_t> used;
        find_best(word, -1, work, used);
        for (const int32_t piece : used) {
          if (piece >= 0) sums[piece] += count * static_cast<int64_t>(kUnit);
        }
      });
}

std::vector<double> UnigramEstimator::removal_losses(const std::vector<double>& counts) const {
  double total = 0;
  for (const double count : counts) total += count;
  std::vector<double> losses(pieces_.size());
  run_parallel(pieces_.size(), 16, [&](size_t i) {
    thread_local Workspace work;
    thread_local std::vector<int32_t> others;
    const ScoredPiece& piece = pieces_[i];
    if (piece.single) {
      losses[i] = kInfinity;
      return;
    }
    const double other_score = find_best(piece.text, static_cast<int32_t>(i), work, others);
    if (other_score >= piece.score) {
      losses[i] = -kInfinity;
      return;
    }
    const double count = counts[i];
    if (count <= 0) return;
    const double new_total = std::log(total + count * (static_cast<double>(others.size()) - 1));
    double after = 0;
    for (const int32_t other : others) {
      const double before = other < 0 ? 0 : counts[other];
      after += std::log(before + count) - new_total;
    }
    losses[i] = count * (std::log(count) - std::log(total) - after);
  });
  return losses;
}

}  // namespace simile::detail
