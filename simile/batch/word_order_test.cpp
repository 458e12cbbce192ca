// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "simile/batch/plan.h"
#include "simile/core/detail/error_of_test.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Example i has the word i % words, but each eleventh example none.
WordsOf one_word(int64_t words) {
  return [words](int64_t example, std::vector<uint64_t>& of) {
    if (example % 11 != 10) of.push_back(static_cast<uint64_t>(example % words));
  };
}

ExampleOrder sorted(ExampleOrder order) {
  std::sort(order.begin(), order.end());
  return order;
}

TEST(WordOrder, EveryGroupHasOneWordAndNoMoreThanItsSize) {
  const int64_t examples = 1100, words = 7, group_size = 8;  // 142 or 143 of a word
  const ExampleOrder order = order_words(examples, one_word(words), group_size, 3, 0);
  EXPECT_EQ(sorted(order), order_sequential(examples));
  // As many groups as runs cut at 8, and singles: words change about as often as groups do.
  std::map<int64_t, int64_t> with_word;
  int64_t alone = 0;
  for (int64_t i = 0; i < examples; ++i) i % 11 == 10 ? ++alone : ++with_word[i % words];
  int64_t groups = alone;
  for (const auto& [word, count] : with_word) groups += (count + group_size - 1) / group_size;
  int64_t changes = 1, longest = 0, run = 0;
  const auto word_at = [&](size_t i) {
    return order[i] % 11 == 10 ? -1 - order[i] : order[i] % static_cast<int32_t>(words);
  };
  for (size_t i = 1; i < order.size(); ++i) {
    const bool same = word_at(i) == word_at(i - 1);
    changes += !same;
    run = same ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  EXPECT_LE(changes, groups);
  EXPECT_GT(changes, groups * 3 / 4);  // neighbouring groups share a word now and then
  EXPECT_GT(longest, group_size - 1);
}

TEST(WordOrder, RunsOfDifferentWordsAreCutFromTheirStart) {
  // Three words with 5 examples each, groups of 4: sizes 4 and 1 of each word, whichever comes
  // first; a count that did not restart would cut elsewhere.
  const WordsOf words = [](int64_t example, std::vector<uint64_t>& of) {
    of.push_back(static_cast<uint64_t>(example / 5));
  };
  for (uint64_t epoch = 0; epoch < 20; ++epoch) {
    const ExampleOrder order = order_words(15, words, 4, 1, epoch);
    std::map<int32_t, std::set<size_t>> places;
    for (size_t i = 0; i < order.size(); ++i) places[order[i] / 5].insert(i);
    for (const auto& [word, at] : places) {
      const std::vector<size_t> place(at.begin(), at.end());
      const bool first_four = place[3] - place[0] == 3, last_four = place[4] - place[1] == 3;
      EXPECT_TRUE(first_four || last_four) << word << " in epoch " << epoch;
    }
  }
}

TEST(WordOrder, TiesGroupsAndWordsAreDrawnAnewEachEpoch) {
  const auto order = [](uint64_t seed, uint64_t epoch) {
    return order_words(500, one_word(5), 8, seed, epoch);
  };
  EXPECT_EQ(order(1, 2), order(1, 2));
  EXPECT_NE(order(1, 2), order(1, 3));
  EXPECT_NE(order(1, 2), order(2, 2));
  // An example with two words is sometimes with the one, sometimes with the other.
  const WordsOf two = [](int64_t example, std::vector<uint64_t>& of) {
    if (example == 0) of = {1, 2};
    if (example > 0) of = {static_cast<uint64_t>(1 + example % 2)};
  };
  int beside_odd = 0;
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    const ExampleOrder one_epoch = order_words(31, two, 100, 7, epoch);
    const auto at = std::find(one_epoch.begin(), one_epoch.end(), 0);
    const int32_t beside = at == one_epoch.begin() ? *(at + 1) : *(at - 1);
    beside_odd += beside % 2;
  }
  EXPECT_GT(beside_odd, 60);
  EXPECT_LT(beside_odd, 140);
}

TEST(WordOrder, ExamplesWithoutWordsAreSpreadLikeGroups) {
  // Half have no word, half one and the same: with groups of 1 all are alike.
  const WordsOf half = [](int64_t example, std::vector<uint64_t>& of) {
    if (example % 2 == 0) of.push_back(9);
  };
  const ExampleOrder order = order_words(4000, half, 1, 5, 0);
  const auto middle = order.begin() + 2000;
  const auto wordless =
      std::count_if(order.begin(), middle, [](int32_t example) { return example % 2 != 0; });
  EXPECT_NEAR(static_cast<double>(wordless), 1000, 120);
}

TEST(WordOrder, OddRequestsHaveDefinedAnswersOrErrors) {
  const auto message = [](int64_t examples, int64_t group_size) -> std::string {
    return error_of(ErrorKind::kFailed,
                    [&] { order_words(examples, one_word(3), group_size, 1, 0); });
  };
  EXPECT_THAT(order_words(0, one_word(3), 8, 1, 0), IsEmpty());
  EXPECT_THAT(order_words(1, one_word(3), 8, 1, 0), ElementsAre(0));
  EXPECT_THAT(message(3, 0), HasSubstr("group_size is 0; expected 1 or more"));
  EXPECT_THAT(message(int64_t{1} << 31, 8), HasSubstr("2147483648 examples; at most"));
}

std::vector<uint64_t> text_shingles(const std::string& text, int64_t shingle,
                                    const std::vector<std::string>& stop_words) {
  std::vector<uint64_t> words;
  TextShingler(shingle, stop_words).append(text, words);
  return words;
}

TEST(TextShingles, StopWordsCaseAndPunctuationDoNotCount) {
  const auto words = [](const std::string& text) { return text_shingles(text, 1, {}); };
  EXPECT_EQ(words("The Cat sat on the mat."), words("cat, SAT: mat"));
  EXPECT_THAT(words("The Cat sat on the mat."), SizeIs(3));
  EXPECT_EQ(words("caf\xC3\xA9"), words("CAF\xC3\x89"));
  EXPECT_THAT(words("中文火"), SizeIs(2));  // of a dictionary
  EXPECT_THAT(words("It isn't what you'd do, is it?"), IsEmpty());
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words("a\xFF"), IsEmpty());
}

TEST(TextShingles, AreConsecutiveWordsInTheirOrder) {
  const auto pairs = [](const std::string& text) { return text_shingles(text, 2, {}); };
  EXPECT_THAT(pairs("red green blue"), SizeIs(2));
  EXPECT_EQ(pairs("red green blue")[1], pairs("the green of blue")[0]);
  EXPECT_NE(pairs("red green")[0], pairs("green red")[0]);
  EXPECT_THAT(pairs("red"), SizeIs(1));  // fewer words than a shingle has: all of them
  EXPECT_EQ(text_shingles("red green", 5, {}), pairs("red green"));
  EXPECT_THAT(text_shingles("red red red", 1, {}), SizeIs(3));
}

TEST(TextShingles, AListOfOnesOwnReplacesTheBuiltInOne) {
  const std::vector<std::string> stop = {"Red", "don't"};
  EXPECT_THAT(text_shingles("red the don t green", 1, stop), SizeIs(2));
  EXPECT_EQ(text_shingles("red the don t green", 1, stop)[1], text_shingles("green", 1, {})[0]);
  EXPECT_THROW(TextShingler(0), Error);
}

TEST(TextShingles, TheBuiltInListHasFunctionWordsOnceEach) {
  const std::vector<std::string>& words = english_stop_words();
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
  EXPECT_THAT(words, ::testing::IsSupersetOf({"the", "of", "and", "is", "you", "not"}));
  EXPECT_THAT(words, Not(::testing::Contains("cat")));
}

}  // namespace
}  // namespace simile
