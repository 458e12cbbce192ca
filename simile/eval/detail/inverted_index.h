// SPDX-License-Identifier: Apache-2.0
// Texts as counted words, and for each word the texts it stands in. What the lexical baselines
// share.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "simile/eval/corpus_scores.h"

namespace simile {

struct WordCount {
  int32_t word = 0;  // position in the vocabulary, which is in the order of the words' bytes
  int32_t count = 0;
};
using CountedText = std::vector<WordCount>;  // sorted by word

// The words of a collection of texts.
class WordCollection {
 public:
  explicit WordCollection(const std::vector<std::string>& texts);

  // Words that the collection lacks are left out.
  CountedText count_words(const std::string& text) const;

  const std::vector<CountedText>& texts() const { return texts_; }
  int64_t words() const { return static_cast<int64_t>(text_frequency_.size()); }
  int64_t text_frequency(int32_t word) const { return text_frequency_[static_cast<size_t>(word)]; }
  double mean_length() const { return mean_length_; }  // in words, with repetition

 private:
  std::vector<int32_t> numbers_of(const std::vector<std::string>& words) const;

  std::unordered_map<std::string, int32_t> vocabulary_;
  std::vector<CountedText> texts_;
  std::vector<int64_t> text_frequency_;  // per word, df
  double mean_length_ = 0;
};

int64_t count_length(const CountedText& text);  // in words, with repetition

struct WordWeight {
  int32_t word = 0;
  float weight = 0;
};
using WeightedText = std::vector<WordWeight>;  // sorted by word

// sum over shared words of the product of weights.
double multiply(const WeightedText& a, const WeightedText& b);

// Scores texts by multiply(query, text), adding up in the order of the query's words; those that
// share no word with the query score 0 and are not found.
class WeightedScores : public CorpusScores {
 public:
  WeightedScores(std::vector<WeightedText> queries, std::vector<WeightedText> texts, int64_t words);

  int64_t documents() const override { return static_cast<int64_t>(texts_.size()); }
  void score(int64_t first, int64_t count, double* scores) const override;
  void score_some(int64_t query, const std::vector<int64_t>& chosen, double* scores) const override;
  double not_found() const override { return 0; }

 private:
  struct Posting {
    int64_t text;
    float weight;
  };

  std::vector<WeightedText> queries_, texts_;
  // The postings of all words in one array: those of word w lie in [begin_[w], begin_[w + 1]).
  std::vector<int64_t> begin_;
  std::vector<Posting> postings_;
};

}  // namespace simile
