// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/lexical_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"
#include "simile/core/parallel.h"

namespace simile {
namespace {

using ::testing::IsEmpty;
using Texts = std::vector<std::string>;

TEST(Bm25, ScoreOfALiteralCorpus) {
  Bm25Scorer scorer;
  // N = 3, mean length 2; "cat" is in two texts, "dog" in one.
  const auto rankings =
      scorer.rank({"cat dog", "cat cat", "bird"}, {"Cat", "cat dog sat", "big sky"}, {}, 0);
  const double idf_cat = std::log(1 + 1.5 / 2.5), idf_dog = std::log(1 + 2.5 / 1.5);
  const double short_text = 1 / (1 + 1.2 * (0.25 + 0.75 * 0.5));
  const double long_text = 1 / (1 + 1.2 * (0.25 + 0.75 * 1.5));
  ASSERT_EQ(rankings[0].size(), 2);
  EXPECT_EQ(rankings[0][0].document, 1);
  EXPECT_NEAR(rankings[0][0].score, (idf_cat + idf_dog) * long_text, 1e-6);
  EXPECT_EQ(rankings[0][1].document, 0);
  EXPECT_NEAR(rankings[0][1].score, idf_cat * short_text, 1e-6);
  EXPECT_NEAR(rankings[1][0].score, 2 * idf_cat * short_text, 1e-6);
  EXPECT_THAT(rankings[2], IsEmpty());
}

TEST(Tfidf, ScoreOfALiteralCorpus) {
  TfidfScorer scorer;
  const auto rankings = scorer.rank({"cat"}, {"cat cat dog", "dog"}, {}, 0);
  const double cat = 2 * (std::log(3.0 / 2) + 1), dog = std::log(3.0 / 3) + 1;
  ASSERT_EQ(rankings[0].size(), 1);
  EXPECT_NEAR(rankings[0][0].score, cat / std::sqrt(cat * cat + dog * dog), 1e-6);
}

TEST(Lexical, PairsAreSymmetricAndOrderedByOverlap) {
  const Texts left = {"a man plays a guitar", "the sky is blue", ""};
  const Texts right = {"a man plays the piano", "dogs run fast", "x"};
  for (const char* name : {"bm25", "tfidf"}) {
    const auto scorer = make_lexical_scorer(name);
    EXPECT_EQ(scorer->name(), name);
    const auto scores = scorer->score_pairs(left, right);
    EXPECT_GT(scores[0], 0.1);
    EXPECT_EQ(scores[1], 0);
    EXPECT_EQ(scores[2], 0);
    EXPECT_EQ(scorer->score_pairs(right, left), scores);
  }
  EXPECT_NEAR(TfidfScorer().score_pairs({"b a c"}, {"A, c B"})[0], 1, 1e-6);
  EXPECT_EQ(make_lexical_scorer("bert"), nullptr);
}

TEST(Lexical, ALanguageFindsOtherFormsOfAWord) {
  const Texts corpus = {"the costs of a train", "cats"};
  for (const char* name : {"bm25", "tfidf"}) {
    const auto plain = make_lexical_scorer(name), english = make_lexical_scorer(name, "english");
    EXPECT_THAT(plain->rank({"trains cost"}, corpus, {}, 0)[0], IsEmpty());
    EXPECT_EQ(english->rank({"trains cost"}, corpus, {}, 0)[0].size(), 1u);
    EXPECT_EQ(plain->score_pairs({"trains cost"}, {corpus[0]})[0], 0);
    EXPECT_GT(english->score_pairs({"trains cost"}, {corpus[0]})[0], 0);
    EXPECT_THAT(plain->notes(), IsEmpty());
    EXPECT_EQ(english->notes()[0], std::string(name) + ": words are cut to stems of english");
  }
  EXPECT_THROW(make_lexical_scorer("bm25", "klingon")->rank({"a"}, {"a"}, {}, 0), Error);
}

TEST(Lexical, CandidatesGetTheScoresOfTheWholeCorpusForAnyNumberOfThreads) {
  const Texts queries = {"red fish", "blue bird sings", "old stone"};
  Texts corpus;
  const char* words[] = {"red", "blue", "fish", "bird", "sings", "old", "stone", "river"};
  for (size_t i = 0; i < 100; ++i) {
    corpus.push_back(std::string(words[i % 8]) + " " + words[i * i % 7] + " " + words[i * 3 % 5]);
  }
  const std::vector<int64_t> some = {3, 17, 50, 99};
  const int threads = thread_count();
  for (const char* name : {"bm25", "tfidf"}) {
    const auto scorer = make_lexical_scorer(name);
    set_thread_count(1);
    const auto all = scorer->rank(queries, corpus, {}, 0);
    set_thread_count(2);
    const auto again = scorer->rank(queries, corpus, {}, 0);
    const auto judged = scorer->rank(queries, corpus, {some, some, some}, 0);
    for (size_t q = 0; q < queries.size(); ++q) {
      EXPECT_EQ(judged[q].size(), some.size());
      ASSERT_EQ(again[q].size(), all[q].size());
      for (size_t i = 0; i < all[q].size(); ++i) EXPECT_EQ(again[q][i].score, all[q][i].score);
      for (const RankedDocument& candidate : judged[q]) {
        double expected = 0;
        for (const RankedDocument& document : all[q]) {
          if (document.document == candidate.document) expected = document.score;
        }
        EXPECT_EQ(candidate.score, expected);
      }
    }
  }
  set_thread_count(threads);
}

}  // namespace
}  // namespace simile
