// SPDX-License-Identifier: Apache-2.0
#include "simile/data/data_review.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "simile/data/text_match.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

PairDataset pairs(const std::vector<std::pair<std::string, std::string>>& texts) {
  PairDataset data;
  for (const auto& [left, right] : texts) {
    data.left.push_back(left);
    data.right.push_back(right);
    data.score.push_back(1);
  }
  return data;
}

// A text of four words that no other number gives.
std::string text(const std::string& what, int number) {
  return fmt::format("this {} has number{}", what, number);
}

PairDataset numbered(int begin, int end, const std::string& left = "question",
                     const std::string& right = "answer") {
  PairDataset data;
  for (int i = begin; i < end; ++i) {
    data.left.push_back(text(left, i));
    data.right.push_back(text(right, i));
    data.score.push_back(1);
  }
  return data;
}

TEST(TextForm, IsThatOfTheTextUpToCaseAndPunctuation) {
  const TextForm form = text_form("A dog, running.");
  EXPECT_EQ(form.key, text_form("a DOG running").key);
  EXPECT_NE(form.key, text_form("a dog runs").key);
  EXPECT_EQ(form.words, 3);
  EXPECT_FALSE(form.is_telling());
  EXPECT_TRUE(text_form("A dog, running home.").is_telling());
  EXPECT_NE(text_form("!").key, text_form("?").key) << "two texts without letters are not the same";
}

TEST(TextForm, SetsAreSortedAndCompared) {
  EXPECT_THAT(key_set(std::vector<uint64_t>{5, 1, 5, 3}), ElementsAre(1, 3, 5));
  EXPECT_EQ(count_common({1, 3, 5}, {0, 3, 4, 5, 9}), 2);
  EXPECT_EQ(count_common({}, {1}), 0);
  EXPECT_TRUE(contains({1, 3}, 3));
  EXPECT_FALSE(contains({1, 3}, 2));
}

TEST(DataReview, CountsWhatASetIsMadeOf) {
  PairDataset data = pairs({{"A dog runs.", "The cat"},
                            {"the cat", "a dog runs"},  // the first pair again
                            {"Same text", "same text!"},
                            {"alone", " - "}});
  data.negatives = {{"no", "no", "not", "never"}};
  data.score = {0, 5, 2, 1};
  data.class_names = {"x", "y"};
  data.classes = {1, 1, 0, 1};
  const DataReview review = review_pairs(data, "f.tsv");
  EXPECT_EQ(review.file, "f.tsv");
  EXPECT_TRUE(review.has_right);
  EXPECT_EQ(review.examples, 4);
  EXPECT_EQ(review.texts, 12);
  EXPECT_EQ(review.distinct_texts, 8);
  EXPECT_EQ(review.duplicate_examples, 1);
  EXPECT_EQ(review.equal_sides, 1);
  EXPECT_EQ(review.empty_texts, 1);
  EXPECT_EQ(review.score_minimum, 0);
  EXPECT_EQ(review.score_maximum, 5);
  EXPECT_EQ(review.score_mean, 2);
  EXPECT_THAT(review.classes, ElementsAre(Pair("x", 1), Pair("y", 3)));
  EXPECT_EQ(review.left_words, 2);
}

TEST(DataReview, SingleTextsRepeatWhenTheTextDoes) {
  PairDataset data;
  data.left = {"one text", "One text.", "another"};
  const DataReview review = review_pairs(data, "f.tsv");
  EXPECT_FALSE(review.has_right);
  EXPECT_EQ(review.duplicate_examples, 1);
  EXPECT_EQ(review.distinct_texts, 2);
}

TEST(DataReview, PairsOfATestAreFoundInEitherOrder) {
  PairDataset test = numbered(0, 20);
  std::swap(test.left[3], test.right[3]);
  test.left[4] = "THIS question: has number4!!";
  const TestTexts texts = pair_texts(test);
  const Leak leak = find_leak(review_pairs(numbered(3, 6), "f"), TestReview(texts));
  EXPECT_EQ(leak.examples, 20);
  EXPECT_EQ(leak.found, 3);
  EXPECT_THAT(leak.first, ElementsAre(3, 4));
  EXPECT_DOUBLE_EQ(leak.found_share(), 0.15);
  EXPECT_EQ(leak.texts, 40);
  EXPECT_EQ(leak.texts_found, 6);
  EXPECT_EQ(texts.text(3), "'this answer has number3' | 'this question has number3'");
}

TEST(DataReview, APairWithOneTextInCommonIsNoLeak) {
  const PairDataset test = numbered(0, 20);
  const Leak leak = find_leak(review_pairs(numbered(0, 20, "question", "other"), "f"),
                              TestReview(pair_texts(test)));
  EXPECT_EQ(leak.found, 0);
  EXPECT_EQ(leak.texts_found, 20);
}

TEST(DataReview, ShortTextsAreNoEvidence) {
  const PairDataset test = pairs({{"Hello", "Hi there"}, {"Hello", "this is a long answer"}});
  const Leak leak = find_leak(review_pairs(test, "f"), TestReview(pair_texts(test)));
  EXPECT_EQ(leak.examples, 2);
  EXPECT_EQ(leak.found, 1);
  EXPECT_EQ(leak.texts, 1);
}

TEST(DataReview, ATestOfSingleTextsIsFoundOnEitherSide) {
  PairDataset test;
  test.left = {text("question", 1), text("answer", 2), text("answer", 99)};
  const Leak leak = find_leak(review_pairs(numbered(0, 5), "f"), TestReview(pair_texts(test)));
  EXPECT_EQ(leak.found, 2);
}

TEST(DataReview, ALeakIsAMistakeFromTenExamplesAndOnePercent) {
  const DataReview training = review_pairs(numbered(0, 10), "f");
  const DataReview fewer = review_pairs(numbered(0, 9), "f");
  const PairDataset test = numbered(0, 1000), large = numbered(0, 1001);
  EXPECT_TRUE(find_leak(training, TestReview(pair_texts(test))).is_mistake());
  EXPECT_FALSE(find_leak(training, TestReview(pair_texts(large))).is_mistake());
  EXPECT_FALSE(find_leak(fewer, TestReview(pair_texts(test))).is_mistake());
}

// A ranking of queries 0 .. n - 1 with the answers 0 .. 99 as documents.
struct Ranking {
  explicit Ranking(int queries) {
    for (int i = 0; i < 100; ++i) documents.push_back(text("answer", i));
    for (int i = 0; i < queries; ++i) {
      this->queries.push_back(text("question", i));
      texts.examples.emplace_back(i, i);
    }
    texts.left = &this->queries;
    texts.right = &documents;
    texts.is_ranking = true;
  }
  std::vector<std::string> queries, documents;
  TestTexts texts;
};

TEST(DataReview, ASharedCorpusIsNoLeakOfARanking) {
  const Ranking ranking(20);
  const TestReview test(ranking.texts);
  const Leak corpus = find_leak(review_pairs(numbered(20, 100), "f"), test);
  EXPECT_EQ(corpus.found, 0);
  EXPECT_EQ(corpus.texts, 20) << "queries alone";
  EXPECT_EQ(corpus.texts_found, 0);
  const Leak judged = find_leak(review_pairs(numbered(10, 100), "f"), test);
  EXPECT_EQ(judged.examples, 20);
  EXPECT_EQ(judged.found, 10);
}

TEST(DataReview, SidesAreExchangedWhenTextsAreFoundOnTheOtherSide) {
  const Ranking ranking(20);
  const TestReview test(ranking.texts);
  const SideMatch straight = match_sides(review_pairs(numbered(20, 60), "f"), test);
  EXPECT_EQ(straight.straight, 1);
  EXPECT_EQ(straight.exchanged, 0);
  EXPECT_FALSE(straight.is_mistake());
  PairDataset data = numbered(20, 60);
  std::swap(data.left, data.right);
  const SideMatch exchanged = match_sides(review_pairs(data, "f"), test);
  EXPECT_EQ(exchanged.exchanged, 1);
  EXPECT_EQ(exchanged.exchanged_texts, 40);
  EXPECT_EQ(exchanged.straight, 0);
  EXPECT_TRUE(exchanged.is_mistake());
}

TEST(DataReview, SidesThatAreAlikeAreNotExchanged) {
  // Duplicate questions: every text is on both sides.
  PairDataset data = numbered(0, 50, "question", "question");
  const TestReview test(pair_texts(data));
  EXPECT_FALSE(match_sides(review_pairs(data, "f"), test).is_mistake());
}

TEST(DataReview, OppositeLengthsOfTheSidesAreSeen) {
  const std::string longer = " and goes on for as many words as it takes to be long";
  PairDataset data = numbered(0, 9, "a", "b");
  for (std::string& right : data.right) right += longer;
  PairDataset turned = data;
  std::swap(turned.left, turned.right);
  EXPECT_TRUE(match_sides(review_pairs(data, "f"), TestReview(pair_texts(turned))).lengths_oppose);
  EXPECT_FALSE(match_sides(review_pairs(data, "f"), TestReview(pair_texts(data))).lengths_oppose);
}

}  // namespace
}  // namespace simile
