// SPDX-License-Identifier: Apache-2.0
// The merge loop of the vocabulary trainer: words as sequences of token ids, in which the most
// frequent pair of neighbours is replaced by a new id.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "simile/core/event.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile::detail {

struct TokenPair {
  int32_t left = 0;
  int32_t right = 0;
};

class PairMerger {
 public:
  // Adds a word that occurs `count` times.
  void add_word(const std::vector<int32_t>& ids, int64_t count);
  // Counts all pairs; call once, after the last word.
  void count_pairs();
  // The most frequent pair, of equals the smallest, if it occurs `min_count` times or more.
  bool find_best(int64_t min_count, TokenPair* best);
  // Replaces each occurrence of `pair`, from left to right, by `id`.
  void merge(TokenPair pair, int32_t id);

 private:
  struct Word {
    uint64_t begin = 0;  // in ids_
    uint32_t size = 0;
    int64_t count = 0;
  };
  struct PairEntry {
    int64_t count = 0;
    std::vector<uint32_t> words;  // where it occurs or once did; may hold a word twice
  };
  struct Candidate {
    int64_t count;
    uint64_t key;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : key > other.key;
    }
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  void merge_in_word(uint32_t number, TokenPair pair, int32_t id);
  void lose(int32_t left, int32_t right, int64_t count);
  uint64_t gain(int32_t left, int32_t right, int64_t count, uint32_t word);  // returns the key

  std::vector<int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, PairEntry> pairs_;
  std::priority_queue<Candidate> queue_;  // counts may be out of date: checked when popped
  std::vector<uint64_t> gained_;          // pairs that the current merge made more frequent
};

// The vocabulary of a trainer that joins pairs, while it grows.
class GrowingVocabulary {
 public:
  // Its id; a token that is there already keeps the one it has.
  int32_t add(const std::string& token) {
    const auto [place, is_new] = ids_.emplace(token, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return place->second;
  }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

using JoinTokens = std::function<std::string(const std::string& left, const std::string& right)>;

// Joins the most frequent pair until the vocabulary is as large as wanted or no pair is frequent
// enough, which is a warning. Returns the pairs in the order they were joined.
std::vector<TokenPair> learn_merges(const VocabularyTrainerOptions& options, PairMerger& merger,
                                    GrowingVocabulary& vocabulary, const JoinTokens& join,
                                    EventSink& events);

}  // namespace simile::detail
