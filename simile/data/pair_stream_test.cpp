// SPDX-License-Identifier: Apache-2.0
#include "simile/data/pair_stream.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "simile/data/detail/test_files.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kPairs = 100;

PairDataOptions write_pairs(const TestFiles& files) {
  for (int part = 0; part < 2; ++part) {
    std::string text = "sentence1\tsentence2\tscore\tn\tg\n";
    for (int64_t i = part * kPairs / 2; i < (part + 1) * kPairs / 2; ++i) {
      const std::string number = std::to_string(i);
      text +=
          "l" + number + "\tr" + number + "\t" + number + "\tn" + number + "\tg" + number + "\n";
    }
    files.write("part-" + std::to_string(part) + ".tsv", text);
  }
  PairDataOptions options;
  options.path = files.path("part-*.tsv");
  return options;
}

std::vector<double> read_epoch(PairStream& stream, int64_t block = 7) {
  std::vector<double> scores;
  const int64_t epoch = stream.position().epoch;
  while (stream.position().epoch == epoch) {
    const PairDataset data = stream.next_block(block);
    scores.insert(scores.end(), data.score.begin(), data.score.end());
  }
  return scores;
}

TEST(PairStream, AnEpochGivesEveryPairOnceInAnOrderOfItsOwn) {
  const TestFiles files;
  PairStream stream(write_pairs(files), {16, 1});
  const std::vector<double> first = read_epoch(stream), second = read_epoch(stream, 1000);
  EXPECT_NE(first, second);
  for (std::vector<double> scores : {first, second}) {
    ASSERT_EQ(scores.size(), kPairs);
    for (size_t place = 0; place < scores.size(); ++place) {
      EXPECT_LT(scores[place], static_cast<double>(place) + 16);  // not read before
    }
    std::sort(scores.begin(), scores.end());
    for (size_t i = 0; i < scores.size(); ++i) EXPECT_EQ(scores[i], static_cast<double>(i));
  }
  EXPECT_EQ(stream.position().epoch, 2);
  PairStream again(write_pairs(files), {16, 1}), other(write_pairs(files), {16, 2});
  EXPECT_EQ(read_epoch(again, 3), first);
  EXPECT_NE(read_epoch(other), first);
}

TEST(PairStream, ABufferOfOneKeepsTheOrder) {
  const TestFiles files;
  PairStream stream(write_pairs(files), {1, 1});
  const std::vector<double> scores = read_epoch(stream);
  EXPECT_TRUE(std::is_sorted(scores.begin(), scores.end()));
}

TEST(PairStream, BlocksHoldTheColumnsAskedForAndEndWithTheEpoch) {
  const TestFiles files;
  PairDataOptions options = write_pairs(files);
  options.negatives = {"n"};
  options.group = "g";
  options.score_scale = 2;
  options.skip = 1;
  options.limit = 5;
  PairStream stream(options, {3, 1});
  const PairDataset first = stream.next_block(4);
  ASSERT_EQ(first.size(), 4);
  for (size_t i = 0; i < 4; ++i) {
    const std::string number = first.left[i].substr(1);
    EXPECT_EQ(first.right[i], "r" + number);
    EXPECT_EQ(first.negatives[0][i], "n" + number);
    EXPECT_EQ(first.group[i], "g" + number);
    EXPECT_EQ(first.score[i], std::stod(number) / 2);
  }
  EXPECT_EQ(stream.next_block(4).size(), 1);
  EXPECT_EQ(stream.position().pairs, 0);
  EXPECT_EQ(stream.next_block(4).size(), 4);
  EXPECT_EQ(stream.position().epoch, 1);
  EXPECT_EQ(stream.position().pairs, 4);
  options.right = "";
  options.score = "";
  options.score_scale = 1;
  const PairDataset single = PairStream(options, {3, 1}).next_block(2);
  EXPECT_TRUE(single.right.empty());
  EXPECT_THAT(single.score, ElementsAre(1, 1));
}

TEST(PairStream, GoesOnFromAnyPosition) {
  const TestFiles files;
  const PairDataOptions options = write_pairs(files);
  PairStream whole(options, {16, 1});
  std::vector<double> scores;
  std::vector<PairStreamPosition> positions;
  while (whole.position().epoch < 2) {
    positions.push_back(whole.position());
    for (const double score : whole.next_block(9).score) scores.push_back(score);
  }
  for (const PairStreamPosition& position : positions) {
    PairStream resumed(options, {16, 1}, position);
    EXPECT_EQ(resumed.position().epoch, position.epoch);
    EXPECT_EQ(resumed.position().pairs, position.pairs);
    std::vector<double> rest;
    while (resumed.position().epoch < 2) {
      for (const double score : resumed.next_block(9).score) rest.push_back(score);
    }
    const int64_t before = position.epoch * kPairs + position.pairs;
    EXPECT_EQ(rest, std::vector<double>(scores.begin() + before, scores.end()));
  }
  EXPECT_THAT(error_of([&] {
                PairStream(options, {16, 1}, {0, 101});
              }),
              HasSubstr("has 100 pairs and cannot be resumed after 101"));
}

TEST(PairStream, LeavesOutWhatTheOptionsSay) {
  const TestFiles files;
  PairDataOptions options;
  options.path =
      files.write("t.tsv", "sentence1\tsentence2\tscore\na\tb\t1\nc\td\tx\ne\tf\t3\ng\th\t-1\n");
  EXPECT_THAT(error_of([&] {
                PairStream strict(options, {1, 1});
                read_epoch(strict);
              }),
              HasSubstr("t.tsv:3: column 'score'"));
  options.on_error = "skip";
  options.filter = {"sentence1 != g"};
  PairStream stream(options, {10, 1});
  const PairDataset data = stream.next_block(10);
  EXPECT_EQ(data.size(), 2);
  EXPECT_EQ(data.report.malformed, 1);
  EXPECT_EQ(data.report.filtered, 1);
  options.skip = 2;
  EXPECT_THAT(error_of([&] {
                PairStream(options, {10, 1});
              }),
              HasSubstr("skip passes over all of its 2 pairs"));
}

TEST(PairStream, FilesMustNotBeChangedMeanwhile) {
  const TestFiles files;
  const std::string header = "sentence1\tsentence2\tscore\n";
  PairDataOptions options;
  options.path = files.write("t.tsv", header + "a\tb\t1\nc\td\t2\n");
  PairStream stream(options, {4, 1});
  EXPECT_EQ(stream.next_block(9).size(), 2);
  files.write("t.tsv", header + "a\tb\t1\n");
  EXPECT_EQ(stream.next_block(9).size(), 1);
  EXPECT_THAT(error_of([&] { stream.next_block(9); }),
              HasSubstr("epoch 1 has 1 pairs and the one before had 2"));
}

TEST(PairStream, WhatNeedsTheWholeSetIsRefused) {
  PairDataOptions options;
  options.path = "t.tsv";
  options.format = "nli";
  EXPECT_THAT(error_of([&] { PairStream(options, {4, 1}); }), HasSubstr("the format table, found"));
  options.format = "table";
  options.exclude = {"x.tsv"};
  EXPECT_THAT(error_of([&] { PairStream(options, {4, 1}); }), HasSubstr("folds, exclude and"));
}

}  // namespace
}  // namespace simile
