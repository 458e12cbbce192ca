// SPDX-License-Identifier: Apache-2.0
#include "simile/data/text_match.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/hash.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<uint64_t> shingles(const std::string& form, int64_t shingle) {
  std::vector<uint64_t> hashes;
  append_shingles(form, shingle, hashes);
  return hashes;
}

std::vector<int32_t> numbers(const std::vector<NearText>& found) {
  std::vector<int32_t> numbers;
  for (const NearText& text : found) numbers.push_back(text.text);
  return numbers;
}

TEST(NearTexts, ShinglesAreRunsOfWords) {
  EXPECT_THAT(shingles("a bb c d", 2), ElementsAre(hash64("a bb"), hash64("bb c"), hash64("c d")));
  EXPECT_THAT(shingles("a bb c d", 1),
              ElementsAre(hash64("a"), hash64("bb"), hash64("c"), hash64("d")));
  EXPECT_THAT(shingles("a bb c d", 4), ElementsAre(hash64("a bb c d")));
  EXPECT_THAT(shingles("a a a", 2), ElementsAre(hash64("a a"), hash64("a a")));
  EXPECT_THAT(shingles("a bb c d", 5), IsEmpty());
  EXPECT_THAT(shingles("a", 1), ElementsAre(hash64("a")));
  EXPECT_THAT(shingles("", 3), IsEmpty());
}

TEST(NearTexts, AShortTestTextIsFoundInALongOne) {
  const NearTextFinder finder({"how do i delete my old account", "the cat sat on the mat"}, 0.6);
  // Five shingles of three words, of which three are there; none is in the other text.
  const auto found = finder.find("people ask how do i delete my account for good and so on");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].text, 0);
  EXPECT_DOUBLE_EQ(found[0].share, 0.6);
  EXPECT_THAT(finder.find("how do i delete the old account"), IsEmpty());  // two
  EXPECT_THAT(numbers(finder.find("the cat sat on the mat how do i delete my old account")),
              ElementsAre(0, 1));
  EXPECT_THAT(finder.find("cat sat on"), IsEmpty());  // a share of the test text, not of this one
  EXPECT_THAT(finder.find(""), IsEmpty());
  EXPECT_FALSE(finder.find("the cat sat on the mat").empty());
  EXPECT_TRUE(finder.find("the mat sat on the cat").empty());
}

TEST(NearTexts, WhatManyTestTextsShareTellsLittle) {
  const std::vector<std::string> tests = {"what is the way to paris", "what is the way to rome",
                                          "what is the way to bonn"};
  // w of "what is the", "is the way", "the way to" is ln(4/3), of "way to ..." ln(4).
  const double shared = 3 * std::log(4.0 / 3), own = std::log(4.0);
  const double share = shared / (shared + own);  // 0.38 of the weight, 3 of 4 shingles
  EXPECT_THAT(NearTextFinder(tests, 0.5).find("and what is the way to sofia"), IsEmpty());
  const auto found = NearTextFinder(tests, 0.3).find("and what is the way to sofia");
  ASSERT_EQ(found.size(), 3);
  EXPECT_DOUBLE_EQ(found[2].share, share);
  EXPECT_THAT(numbers(NearTextFinder(tests, 0.5).find("tell me the best way to rome")),
              ElementsAre(1));
}

TEST(NearTexts, TestTextsOfFewerThanTwoShinglesAreNotLookedFor) {
  const NearTextFinder finder({"what are the symptoms now", "what are the symptoms of it"}, 0.6);
  EXPECT_THAT(numbers(finder.find("what are the symptoms now of it")), IsEmpty());
  EXPECT_THAT(numbers(finder.find("what are the symptoms of a flu")), ElementsAre(1));
}

TEST(NearTexts, AShingleThatStandsTwiceCountsOnce) {
  const NearTextFinder finder({"a b a b a b c"}, 0.5, 2);  // ab, ba, bc
  EXPECT_THAT(finder.find("x a b y"), IsEmpty());
  EXPECT_THAT(finder.find("x a b x a b"), IsEmpty());
  const auto found = finder.find("x a b a");
  ASSERT_EQ(found.size(), 1);
  EXPECT_DOUBLE_EQ(found[0].share, 2.0 / 3);
}

// The definition, word by word.
class Definition {
 public:
  Definition(const std::vector<std::string>& tests, size_t shingle) : shingle_(shingle) {
    for (const std::string& test : tests) {
      tests_.push_back(is_long(test) ? cut(test) : Shingles());
      texts_ += tests_.back().empty() ? 0 : 1;
      for (const auto& each : tests_.back()) ++counts_[each];
    }
  }

  double share(size_t test, const std::string& text) const {
    const Shingles of_text = cut(text);
    double common = 0, all = 0;
    for (const auto& each : tests_[test]) {
      const double weight = std::log((texts_ + 1) / counts_.at(each));
      all += weight;
      if (of_text.count(each) > 0) common += weight;
    }
    return all == 0 ? 0 : common / all;
  }

 private:
  using Words = std::vector<std::string>;
  using Shingles = std::set<Words>;

  static Words split(const std::string& form) {
    std::istringstream in(form);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
  }
  bool is_long(const std::string& form) const { return split(form).size() >= 2 * shingle_; }
  Shingles cut(const std::string& form) const {
    const Words words = split(form);
    Shingles cut;
    for (auto begin = words.begin(); words.end() - begin >= static_cast<int64_t>(shingle_);
         ++begin) {
      cut.insert({begin, begin + static_cast<int64_t>(shingle_)});
    }
    return cut;
  }

  size_t shingle_;
  std::vector<Shingles> tests_;
  std::map<Words, double> counts_;
  double texts_ = 0;
};

std::string draw_form(RandomStream& random, uint64_t most) {
  std::string form;
  for (uint64_t left = random.below(most + 1); left > 0; --left) {
    form += (form.empty() ? "" : " ") + std::string(1 + random.below(2), "abc"[random.below(3)]);
  }
  return form;
}

TEST(NearTexts, FindsWhatTheDefinitionSaysWithAnyNumberOfThreads) {
  for (const double share : {0.2, 0.5, 0.6, 0.75, 1.0}) {
    for (const int64_t shingle : {1, 2, 3}) {
      RandomStream random(7, "near texts", static_cast<uint64_t>(shingle));
      std::vector<std::string> tests, texts;
      for (int i = 0; i < 250; ++i) tests.push_back(draw_form(random, 12));
      for (int i = 0; i < 40; ++i) texts.push_back(draw_form(random, 25));
      for (size_t i = 0; i < 10; ++i) {
        texts.push_back(tests[i].empty() ? "b" : "b " + tests[i] + " a");
      }
      const int threads = thread_count();
      set_thread_count(1);
      const NearTextFinder finder(tests, share, shingle);
      set_thread_count(3);
      const NearTextFinder other(tests, share, shingle);
      set_thread_count(threads);
      const Definition definition(tests, static_cast<size_t>(shingle));
      int64_t hits = 0;
      for (const std::string& text : texts) {
        std::vector<int32_t> expected;
        for (size_t i = 0; i < tests.size(); ++i) {
          if (definition.share(i, text) >= share - 1e-9) {
            expected.push_back(static_cast<int32_t>(i));
          }
        }
        const auto found = finder.find(text);
        EXPECT_EQ(numbers(found), expected) << text;
        EXPECT_EQ(numbers(other.find(text)), expected) << text;
        EXPECT_EQ(finder.find(text).empty(), expected.empty());
        for (const NearText& each : found) {
          EXPECT_NEAR(each.share, definition.share(static_cast<size_t>(each.text), text), 1e-12);
        }
        hits += static_cast<int64_t>(expected.size());
      }
      EXPECT_GT(hits, 0) << share << " " << shingle;
    }
  }
}

TEST(NearTexts, NothingIsFoundOfNoTexts) {
  EXPECT_THAT(NearTextFinder({}, 0.5).find("a b c d"), IsEmpty());
  EXPECT_THAT(NearTextFinder({"", "a b"}, 0.5).find("a b c d"), IsEmpty());
}

TEST(NearTexts, SharesAndShinglesThatMakeNoSenseAreRefused) {
  for (const double share : {0.0, -0.5, 1.01}) {
    EXPECT_THAT(error_of([&] { NearTextFinder({"a"}, share); }), HasSubstr("expected a share"));
  }
  EXPECT_THAT(error_of([&] { NearTextFinder({"a"}, 0.5, 0); }), HasSubstr("at least 1 word"));
}

}  // namespace
}  // namespace simile
