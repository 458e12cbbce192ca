// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_dataset.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "simile/core/random.h"
#include "simile/data/detail/packed_files_test.h"
#include "simile/data/pair_data.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

FoldOptions fold_of(int64_t folds, int64_t fold, const std::string& part) {
  return {folds, fold, part, 1};
}

std::vector<char> test_part(const std::vector<std::string>& groups, int64_t folds, int64_t fold) {
  return choose_part(fold_of(folds, fold, "test"), groups, "t.tsv", "pairs").is_kept;
}

// Groups of 1 to 7 items, 400 items in all.
std::vector<std::string> make_groups() {
  std::vector<std::string> groups;
  for (int g = 0; groups.size() < 400; ++g) {
    for (int i = 0; i <= g % 7; ++i) groups.push_back("g" + std::to_string(g));
  }
  groups.resize(400);
  return groups;
}

TEST(Folds, EveryGroupIsInOneTestPartAndTrainIsTheRest) {
  const std::vector<std::string> groups = make_groups();
  for (const int64_t folds : {2, 3, 5, 10}) {
    std::vector<int> times(groups.size());
    std::map<std::string, std::set<int64_t>> folds_of;
    std::vector<int64_t> sizes;
    for (int64_t fold = 0; fold < folds; ++fold) {
      const std::vector<char> test = test_part(groups, folds, fold);
      const std::vector<char> train =
          choose_part(fold_of(folds, fold, "train"), groups, "t.tsv", "pairs").is_kept;
      for (size_t i = 0; i < groups.size(); ++i) {
        EXPECT_NE(test[i], train[i]);
        times[i] += test[i];
        if (test[i] != 0) folds_of[groups[i]].insert(fold);
      }
      sizes.push_back(std::count(test.begin(), test.end(), 1));
    }
    EXPECT_THAT(times, ::testing::Each(1));
    for (const auto& [group, in] : folds_of) EXPECT_EQ(in.size(), 1) << group;
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_LE(*most - *least, 1) << folds;  // small groups even out what large ones leave
  }
}

TEST(Folds, DevIsTheFoldAfterTheTestPartAndFitTheRest) {
  const std::vector<std::string> groups = make_groups();
  for (int64_t fold = 0; fold < 4; ++fold) {
    const std::vector<char> test = test_part(groups, 4, fold);
    EXPECT_EQ(choose_part(fold_of(4, fold, "dev"), groups, "t.tsv", "pairs").is_kept,
              test_part(groups, 4, (fold + 1) % 4));
    const std::vector<char> dev = test_part(groups, 4, (fold + 1) % 4);
    const std::vector<char> fit =
        choose_part(fold_of(4, fold, "fit"), groups, "t.tsv", "pairs").is_kept;
    for (size_t i = 0; i < groups.size(); ++i) EXPECT_EQ(test[i] + dev[i] + fit[i], 1);
  }
}

TEST(Folds, TheOrderOfRowsDoesNotMatterAndTheSeedDoes) {
  std::vector<std::string> groups = make_groups();
  const auto kept = [&](const FoldOptions& options) {
    const FoldPart part = choose_part(options, groups, "t.tsv", "pairs");
    std::set<std::string> names;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (part.is_kept[i] != 0) names.insert(groups[i]);
    }
    return names;
  };
  const FoldOptions options = fold_of(5, 2, "test");
  const std::set<std::string> before = kept(options);
  RandomStream random(7, "rows");
  shuffle(groups, random);
  EXPECT_EQ(kept(options), before);
  FoldOptions other = options;
  other.fold_seed = 2;
  EXPECT_NE(kept(other), before);
}

TEST(Folds, ALargeGroupIsTold) {
  const std::vector<std::string> groups = {"a", "a", "a", "a", "a", "a", "a", "a", "b", "c"};
  const FoldPart part = choose_part(fold_of(3, 0, "test"), groups, "t.tsv", "pairs");
  EXPECT_EQ(
      part.note,
      "t.tsv: test part of fold 0 of 3: 8 of 10 pairs, 1 of 3 groups; the largest group holds "
      "8, so the folds cannot be of equal size");
  EXPECT_THAT(
      choose_part(fold_of(2, 0, "train"), {"a", "b", "c"}, "t.tsv", "pairs").note,
      AllOf(HasSubstr("train part of fold 0 of 2: 1 of 3 pairs"), Not(HasSubstr("largest"))));
}

TEST(Folds, OptionsThatDoNotGoTogetherAreErrors) {
  const std::vector<std::string> groups = {"a", "b", "b"};
  const auto error = [&](const FoldOptions& options) {
    return error_of([&] { choose_part(options, groups, "t.tsv", "pairs"); });
  };
  EXPECT_THAT(error(fold_of(0, 1, "")), HasSubstr("need folds, of at least 2; found 0"));
  EXPECT_THAT(error(fold_of(1, 0, "test")), HasSubstr("at least 2; found 1"));
  EXPECT_THAT(error(fold_of(2, 2, "test")), HasSubstr("fold: expected 0 to 1"));
  EXPECT_THAT(error(fold_of(2, 0, "")), HasSubstr("expected train, test, dev or fit, found ''"));
  EXPECT_THAT(error(fold_of(2, 0, "fit")), HasSubstr("part fit needs at least 3 folds"));
  EXPECT_THAT(error(fold_of(3, 0, "test")),
              HasSubstr("t.tsv: 3 folds need as many groups of equal texts, and there are 2"));
  EXPECT_THAT(choose_part({}, groups, "t.tsv", "pairs").is_kept, ElementsAre(1, 1, 1));
}

TEST(Folds, WithoutAGroupColumnPairsThatShareATextAreOneGroup) {
  PairDataset data;
  data.left = {"A cat.", "dogs", "x", "y", "?!", ""};
  data.right = {"two", "a CAT", "z", "n", "w", ""};
  data.negatives = {{"", "", "dogs!", "", "", ""}};
  EXPECT_THAT(fold_groups(data), ElementsAre("a cat", "a cat", "a cat", "n", "?!", ""));
  data.group = {"1", "2", "3", "4", "5", "6"};
  EXPECT_EQ(fold_groups(data), data.group);
}

TEST(Folds, AnEmptyFieldOfTheGroupColumnIsAGroupOfItsOwn) {
  PairDataset data;
  data.left = {"a", "b", "A!", "c"};
  data.right = {"x", "y", "x", "z"};
  data.group = {"", "", "", "g"};
  const std::vector<std::string> keys = fold_groups(data);
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]) << "equal pairs stay together";
  EXPECT_EQ(keys[3], "g");
}

TEST(Folds, NoTextOfATableIsOnBothSides) {
  const TestFiles files;
  std::string table = "sentence1\tsentence2\tscore\n";
  RandomStream random(3, "texts");
  for (int i = 0; i < 200; ++i) {
    table += fmt::format("text {}\tText {}!\t{}\n", random.below(300), random.below(300), i);
  }
  PairDataOptions options;
  options.path = files.write("t.tsv", table);
  int64_t tested = 0;
  for (int64_t fold = 0; fold < 3; ++fold) {
    options.folds = fold_of(3, fold, "test");
    const PairDataset test = read_pairs(options);
    options.folds.part = "train";
    const PairDataset train = read_pairs(options);
    EXPECT_EQ(test.size() + train.size(), 200);
    tested += test.size();
    std::set<std::string> numbers;
    for (const auto* texts : {&test.left, &test.right}) {
      for (const std::string& text : *texts) numbers.insert(text.substr(5, text.find('!') - 5));
    }
    for (const auto* texts : {&train.left, &train.right}) {
      for (const std::string& text : *texts) {
        EXPECT_EQ(numbers.count(text.substr(5, text.find('!') - 5)), 0) << text;
      }
    }
    EXPECT_THAT(test.notes.back(), HasSubstr(fmt::format("test part of fold {} of 3", fold)));
  }
  EXPECT_EQ(tested, 200);
}

}  // namespace
}  // namespace simile
