// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/text/detail/vocabulary_learning.h"
#include "simile/text/vocabulary_trainer.h"

namespace simile {
namespace {

using detail::CountedWords;
using detail::ScoredPiece;
using detail::SeedPiece;
using Texts = std::vector<std::string>;

std::string random_word(RandomStream& random, size_t size) {
  std::string word;
  while (word.size() < size) word += static_cast<char>('a' + random.below(3));
  return word;
}

TEST(UnigramSeeds, SubstringsAreCountedAndNoneThatMattersIsMissed) {
  RandomStream random(1, "seeds");
  std::vector<std::string> texts;
  std::vector<int64_t> counts;
  for (int i = 0; i < 40; ++i) {
    texts.push_back(random_word(random, 1 + random.below(20)));
    counts.push_back(static_cast<int64_t>(1 + random.below(4)));
  }
  CountedWords words;
  std::map<std::string, int64_t> expected;
  for (size_t i = 0; i < texts.size(); ++i) {
    words.emplace_back(texts[i], counts[i]);
    for (size_t begin = 0; begin < texts[i].size(); ++begin) {
      for (size_t size = 1; size <= 16 && begin + size <= texts[i].size(); ++size) {
        expected[texts[i].substr(begin, size)] += counts[i];
      }
    }
  }
  std::map<std::string, int64_t> found;
  for (const SeedPiece& seed : detail::find_seed_pieces(words, {U'a', U'b', U'c'}, 1 << 20)) {
    EXPECT_EQ(seed.single, seed.text.size() == 1);
    EXPECT_TRUE(found.emplace(seed.text, seed.count).second) << seed.text << " twice";
  }
  for (const auto& [text, count] : found) EXPECT_EQ(count, expected[text]) << text;
  for (const auto& [text, count] : expected) {
    if (count < 2 || found.count(text) != 0) continue;
    // Only substrings that one character always follows are left out.
    const bool is_followed = std::any_of(std::begin("abc"), std::end("abc") - 1, [&](char next) {
      const auto longer = expected.find(text + next);
      return longer != expected.end() && longer->second == count;
    });
    EXPECT_TRUE(is_followed) << text;
  }
}

TEST(UnigramSeeds, LimitKeepsTheHeaviest) {
  const CountedWords words = {{"abab", 10}, {"xy", 3}, {"q", 5}};
  const auto seeds = detail::find_seed_pieces(words, {U'a', U'b', U'q', U'x', U'y'}, 2);
  Texts texts;
  for (const SeedPiece& seed : seeds) texts.push_back(seed.text);
  // "ab", twice in each word, and "abab" make up 40 characters each.
  EXPECT_EQ(texts, (Texts{"a", "b", "q", "x", "y", "abab", "ab"}));
}

struct Cut {
  std::vector<size_t> pieces;
  double score;
};

std::vector<Cut> all_cuts(const std::string& word, const std::vector<ScoredPiece>& pieces) {
  if (word.empty()) return {{{}, 0}};
  std::vector<Cut> cuts;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (word.compare(0, pieces[i].text.size(), pieces[i].text) != 0) continue;
    for (Cut cut : all_cuts(word.substr(pieces[i].text.size()), pieces)) {
      cut.pieces.push_back(i);
      cut.score += pieces[i].score;
      cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

TEST(UnigramEstimator, CountsAreThoseOfAllCutsWrittenOut) {
  const std::vector<ScoredPiece> pieces = {
      {"a", -2.0, true},  {"b", -2.3, true}, {"c", -2.9, true}, {"ab", -3.1, false},
      {"abc", -5, false}, {"bc", -4, false}, {"ca", -9, false}};
  RandomStream random(2, "estimator");
  std::vector<std::string> texts;
  for (int i = 0; i < 30; ++i) texts.push_back(random_word(random, 1 + random.below(9)));
  CountedWords words;
  for (size_t i = 0; i < texts.size(); ++i) words.emplace_back(texts[i], 1 + i % 5);
  std::vector<double> expected(pieces.size());
  std::vector<double> best(pieces.size());
  for (const auto& [word, count] : words) {
    const std::vector<Cut> cuts = all_cuts(std::string(word), pieces);
    double total = 0;
    for (const Cut& cut : cuts) total += std::exp(cut.score);
    for (const Cut& cut : cuts) {
      for (const size_t i : cut.pieces) {
        expected[i] += static_cast<double>(count) * std::exp(cut.score) / total;
      }
    }
    const auto top = std::max_element(cuts.begin(), cuts.end(),
                                      [](const Cut& a, const Cut& b) { return a.score < b.score; });
    for (const size_t i : top->pieces) best[i] += static_cast<double>(count);
  }
  const detail::UnigramEstimator estimator(words, pieces);
  EXPECT_THAT(estimator.expected_counts(), testing::Pointwise(testing::DoubleNear(1e-4), expected));
  EXPECT_THAT(estimator.best_counts(), testing::Pointwise(testing::DoubleNear(1e-9), best));
  const std::vector<double> losses = estimator.removal_losses(best);
  EXPECT_EQ(losses[0], INFINITY);   // a single character
  EXPECT_EQ(losses[6], -INFINITY);  // "c" and "a" are better than "ca"
}

Tokenizer learn(const Texts& texts, int64_t size) {
  VocabularyTrainerOptions options;
  options.type = "unigram";
  options.vocabulary_size = size;
  size_t next = 0;
  return train_vocabulary(
      [&](std::string& text) {
        if (next == texts.size()) return false;
        text = texts[next++];
        return true;
      },
      options);
}

Texts sentences() {
  const char* const subjects[] = {"the walker", "a talker", "the singer", "a worker"};
  const char* const verbs[] = {"walked", "talked", "worked", "was walking", "was singing"};
  Texts texts;
  for (int i = 0; i < 40; ++i) {
    texts.push_back(std::string(subjects[i % 4]) + " " + verbs[i % 5] + ", and Caf\u00E9!");
  }
  return texts;
}

TEST(UnigramTrainer, LearnsWordsAndKeepsAllCharacters) {
  const Texts texts = sentences();
  const Tokenizer tokenizer = learn(texts, 60);
  EXPECT_EQ(tokenizer.vocabulary_size(), 60);
  EXPECT_EQ(tokenizer.find("<s>"), 0);
  EXPECT_EQ(tokenizer.find("<pad>"), 1);
  EXPECT_EQ(tokenizer.find("</s>"), 2);
  EXPECT_EQ(tokenizer.find("<unk>"), 3);
  EXPECT_EQ(tokenizer.find("<mask>"), 59);
  EXPECT_EQ(tokenizer.special_tokens().unk, 3);
  for (const char c : std::string("thewalkrsingdocf,!")) {
    EXPECT_GE(tokenizer.find(std::string(1, c)), 0) << c;
  }
  for (const std::string& text : texts) {
    const Encoding encoding = tokenizer.encode(text);
    EXPECT_EQ(std::count(encoding.ids.begin(), encoding.ids.end(), 3), 0) << text;
    EXPECT_LT(encoding.ids.size(), 16u) << text;
  }
  EXPECT_GE(tokenizer.find("\u2581the"), 0);
  for (int32_t id = 4; id < 59; ++id) {  // no piece crosses into punctuation
    const std::string_view token = tokenizer.token(id);
    EXPECT_TRUE(token.size() == 1 || token.find_first_of(",!") == std::string::npos) << token;
  }
}

TEST(UnigramTrainer, ResultDependsNeitherOnOrderNorOnThreads) {
  Texts texts = sentences();
  const std::string expected = learn(texts, 70).to_json();
  std::reverse(texts.begin(), texts.end());
  const int threads = omp_get_max_threads();
  for (const int count : {1, 4}) {
    omp_set_num_threads(count);
    EXPECT_EQ(learn(texts, 70).to_json(), expected);
  }
  omp_set_num_threads(threads);
}

TEST(UnigramTrainer, WhatCannotBeLearntIsRefused) {
  EXPECT_THROW(learn(sentences(), 20), Error);  // fewer than the characters
  EXPECT_THROW(learn({" ", ""}, 100), Error);
  EXPECT_EQ(learn({"ab"}, 100).vocabulary_size(), 5 + 3);  // a warning: "\u2581", "a" and "b"
}

}  // namespace
}  // namespace simile
