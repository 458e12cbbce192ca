// SPDX-License-Identifier: Apache-2.0
// What unigram training computes: the pieces it starts from and, again and again, how often each
// piece is used and which pieces can be done without.
//
// Kudo, "Subword Regularization", ACL 2018, sect. 3.2. Sums over words are kept as whole numbers of
// 2^-20, so that they do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/text/detail/vocabulary_learning.h"
#include "simile/text/vocabulary.h"

namespace simile::detail {

struct SeedPiece {
  std::string text;
  int64_t count = 0;  // occurrences in the words, each taken as often as it was counted
  bool single = false;
};

// All characters of `alphabet` that occur, in order; then, of the substrings of 2 to 16 such
// characters that occur at least twice, the `limit` with the largest count times length, the
// largest first. Of substrings that only ever occur inside a longer one at the same place the
// longest alone counts (nodes of the suffix tree). Memory: about 30 bytes for each character of
// the words.
std::vector<SeedPiece> find_seed_pieces(const CountedWords& words,
                                        const std::vector<char32_t>& alphabet, size_t limit);

struct ScoredPiece {
  std::string text;
  double score = 0;     // logarithm of its probability
  bool single = false;  // a single character, which is always kept
};

class UnigramEstimator {
 public:
  // Keeps references to both; pieces must stay where they are.
  UnigramEstimator(const CountedWords& words, const std::vector<ScoredPiece>& pieces);

  // E step: how often each piece is expected in the words, over all ways to cut them
  // (forward-backward).
  std::vector<double> expected_counts() const;
  // How often each piece is in the best cut of the words (Viterbi).
  std::vector<double> best_counts() const;
  // How much the likelihood of the words falls when a piece, used `counts` times, gives way to the
  // best cut of its text into others. Infinite for single characters, minus infinity for a piece
  // that is not the best cut of its own text.
  std::vector<double> removal_losses(const std::vector<double>& counts) const;

 private:
  struct Edge {
    uint32_t begin, end;  // bytes of the word
    int32_t piece;        // -1: a character outside all pieces
    double score;
  };
  struct Workspace {
    std::vector<Edge> edges;  // by begin
    std::vector<double> forward, backward;
    std::vector<int32_t> from;  // the edge that the best way to a place ends with
  };

  void list_edges(std::string_view word, int32_t without, std::vector<Edge>& edges) const;
  // Score of the best cut, whose pieces are put into `used`.
  double find_best(std::string_view word, int32_t without, Workspace& work,
                   std::vector<int32_t>& used) const;
  template <typename AddWord>
  std::vector<double> sum_words(const AddWord& add_word) const;

  const CountedWords& words_;
  const std::vector<ScoredPiece>& pieces_;
  PieceTrie trie_;
  double unknown_score_ = 0;
};

}  // namespace simile::detail
