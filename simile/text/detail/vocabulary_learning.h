// SPDX-License-Identifier: Apache-2.0
// Shared by the trainers of vocabularies: the counted words of many texts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/core/error.h"
#include "simile/text/utf8.h"
#include "simile/text/vocabulary.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::detail {

// How often each word occurs.
class WordCounter {
 public:
  void add(std::string_view word, int64_t count);
  void add_all(const WordCounter& other);
  int64_t size() const { return static_cast<int64_t>(words_.size()); }
  // All words in the order of their bytes, with counts. Valid while the counter lives unchanged.
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
  std::vector<uint32_t> slots_;  // open addressing, a power of two: the word's number + 1, or 0
};

using CountedWords = std::vector<std::pair<std::string_view, int64_t>>;

// Takes the words of one text; called from several threads, each with its own counter.
using WordSink = std::function<void(std::string_view word, WordCounter& counter)>;

// Normalises and cuts each text by these components of a tokenizer.json, and hands its words, none
// of them empty, to `sink`. Texts are read by this thread and cut by all; the counts do not depend
// on the number of threads. Errors (kInput): a text of 500 MB or more; no words at all.
WordCounter count_words(const TextSource& next_text, const Json& normalizer,
                        const Json& pre_tokenizer, const WordSink& sink, EventSink& events);

// Calls visit(position, character) for each character of a word.
template <typename Visit>
void visit_characters(std::string_view word, const Visit& visit) {
  for (size_t i = 0; i < word.size();) {
    const DecodedCharacter character = decode_valid_character(word, i);
    visit(i, character.code_point);
    i += character.size;
  }
}

// The most frequent characters, at most `limit`, in the order of their code points.
std::vector<char32_t> choose_alphabet(const CountedWords& words, int64_t limit);

// The trainer of unigram models behind train_vocabulary(). `special_tokens` have been checked:
// those that the kind needs are among them, none twice. Errors: kRecipe for a vocabulary_size that
// the special tokens and characters alone exceed; kInput as count_words().
Tokenizer train_unigram(const TextSource& next_text, const VocabularyTrainerOptions& options,
                        const std::vector<std::string>& special_tokens, EventSink& events);

// The steps of unigram training: it finds starting pieces, then repeatedly counts how often each is
// used and which can be dropped (Kudo, "Subword Regularization", ACL 2018, sect. 3.2). Sums over
// words are whole numbers of 2^-20, and so the same with any number of threads.
struct SeedPiece {
  std::string text;
  int64_t count = 0;  // occurrences in the words, each taken as often as it was counted
  bool single = false;
};

// All characters of `alphabet` that occur, in order; then, of the substrings of 2 to 16 such
// characters that occur at least twice, the `limit` with the largest count times length, the
// largest first. Among substrings that only occur at the same place inside a longer one, only the
// longest counts (nodes of the suffix tree). Memory: about 30 bytes for each character.
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

  // E step: how often each piece is expected in the words over all cuts (forward-backward).
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
