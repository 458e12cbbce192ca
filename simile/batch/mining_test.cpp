// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/mining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "simile/core/detail/error_of_test.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// One anchor (row `candidates`) with candidates 0, 1, ... of these scores, best first.
struct OneAnchor {
  OneAnchor(const std::vector<float>& scores, double positive, std::vector<int32_t> own) {
    plan.candidates = static_cast<int64_t>(scores.size());
    plan.anchors = {static_cast<int32_t>(scores.size())};
    plan.own = {std::move(own)};
    this->scores.lowest_positive = {positive};
    this->scores.rank = [scores](int64_t, int64_t, int64_t depth) {
      std::vector<Hit> hits;
      for (size_t i = 0; i < scores.size() && static_cast<int64_t>(i) < depth; ++i) {
        hits.push_back({static_cast<int64_t>(i), scores[i]});
      }
      return std::vector<std::vector<Hit>>{hits};
    };
  }

  MinedNegatives mine(const MiningOptions& options, uint64_t seed = 1) const {
    return mine_negatives(plan, scores, options, seed);
  }

  MiningPlan plan;
  MiningScores scores;
};

std::vector<int64_t> ids(const std::vector<Hit>& hits) {
  std::vector<int64_t> out;
  for (const Hit& hit : hits) out.push_back(hit.id);
  return out;
}

std::vector<float> falling(int count) {
  std::vector<float> scores;
  for (int i = 0; i < count; ++i) scores.push_back(1.0f - static_cast<float>(i) / 1024);
  return scores;
}

MiningOptions options_with(const char* method, int64_t count) {
  MiningOptions options;
  options.method = method;
  options.count = count;
  return options;
}

// Scores 1.0, 0.9, ... 0.1; candidate 2 is the positive, of score 0.8.
struct HardCase {
  const char* name;
  void (*change)(MiningOptions&);
  std::vector<int64_t> chosen;
  std::vector<int64_t> counts;  // own, before, min, max, absolute, relative
};

const HardCase kHardCases[] = {
    {"the first without the positive", [](MiningOptions&) {}, {0, 1, 3}, {1, 0, 0, 0, 0, 0}},
    {"range_min", [](MiningOptions& o) { o.range_min = 2; }, {3, 4, 5}, {1, 2, 0, 0, 0, 0}},
    {"max_score", [](MiningOptions& o) { o.max_score = 0.65; }, {4, 5, 6}, {1, 0, 0, 3, 0, 0}},
    {"min_score", [](MiningOptions& o) { o.min_score = 0.85; }, {0, 1}, {1, 0, 7, 0, 0, 0}},
    {"absolute margin",
     [](MiningOptions& o) { o.absolute_margin = 0.25; },
     {5, 6, 7},
     {1, 0, 0, 0, 4, 0}},
    {"relative margin",
     [](MiningOptions& o) { o.relative_margin = 0.5; },
     {7, 8, 9},
     {1, 0, 0, 0, 0, 6}},
    {"the range ends before there are enough",
     [](MiningOptions& o) {
       o.range_max = 4;
       o.max_score = 0.75;
     },
     {3, 4},
     {1, 0, 0, 2, 0, 0}},
    {"the first reason counts",
     [](MiningOptions& o) {
       o.range_min = 1;
       o.max_score = 0.95;
       o.absolute_margin = 0.15;
     },
     {4, 5, 6},
     {1, 1, 0, 0, 2, 0}},
};

TEST(Mining, TakesTheFirstCandidatesWithinTheLimits) {
  const OneAnchor anchor({1.0f, 0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f, 0.3f, 0.2f, 0.1f}, 0.8, {2});
  for (const HardCase& c : kHardCases) {
    MiningOptions options = options_with("top", 3);
    c.change(options);
    const MinedNegatives mined = anchor.mine(options);
    EXPECT_THAT(ids(mined.negatives[0]), ElementsAreArray(c.chosen)) << c.name;
    const MiningCounts& n = mined.counts;
    EXPECT_THAT((std::vector<int64_t>{n.own, n.before_range, n.min_score, n.max_score,
                                      n.absolute_margin, n.relative_margin}),
                ElementsAreArray(c.counts))
        << c.name;
    EXPECT_EQ(n.fewer, c.chosen.size() < 3 ? 1 : 0) << c.name;
  }
}

TEST(Mining, AMarginIsTakenFromTheSizeOfANegativeScore) {
  const OneAnchor anchor({-0.9f, -1.0f, -1.15f, -1.3f}, -1, {});
  MiningOptions options = options_with("top", 2);
  options.relative_margin = 0.1;
  EXPECT_THAT(ids(anchor.mine(options).negatives[0]), ElementsAre(2, 3));
}

TEST(Mining, WithoutAPositiveThereIsNoMargin) {
  const OneAnchor anchor({1.0f, 0.9f}, kNone, {});
  MiningOptions options = options_with("top", 1);
  options.absolute_margin = options.relative_margin = 0.5;
  const MinedNegatives mined = anchor.mine(options);
  EXPECT_THAT(ids(mined.negatives[0]), ElementsAre(0));
  EXPECT_EQ(mined.counts.positive_mean, 0);
}

TEST(Mining, CountsAnchorsAndMeansOfScores) {
  const OneAnchor anchor({1.0f, 0.5f, 0.25f}, 0.75, {0});
  const MiningCounts all = anchor.mine(options_with("top", 2)).counts;
  EXPECT_EQ(all.anchors, 1);
  EXPECT_EQ(all.negatives, 2);
  EXPECT_EQ(all.fewer + all.without, 0);
  EXPECT_EQ(all.positive_mean, 0.75);
  EXPECT_EQ(all.negative_mean, 0.375);
  MiningOptions none = options_with("top", 2);
  none.max_score = 0;
  EXPECT_EQ(anchor.mine(none).counts.without, 1);
}

TEST(Mining, TheRandomDrawIsSeededByTheAnchorAndStaysInItsRange) {
  const OneAnchor anchor(falling(40), 1, {3, 7});
  MiningOptions options = options_with("random", 4);
  options.range_min = 5;
  options.range_max = 30;
  std::vector<int> seen(40);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<int64_t> drawn = ids(anchor.mine(options, seed).negatives[0]);
    EXPECT_EQ(drawn, ids(anchor.mine(options, seed).negatives[0]));
    ASSERT_THAT(drawn, SizeIs(4));
    EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
    for (const int64_t id : drawn) ++seen[static_cast<size_t>(id)];
  }
  // Ranks 5 .. 29 of those that are not its own: 25 candidates, each 300 * 4 / 25 = 48 times.
  for (const int id : {0, 1, 2, 3, 4, 5, 7, 32, 39}) EXPECT_EQ(seen[static_cast<size_t>(id)], 0);
  for (const int id : {6, 8, 20, 31}) {
    EXPECT_GT(seen[static_cast<size_t>(id)], 24) << id;
    EXPECT_LT(seen[static_cast<size_t>(id)], 84) << id;
  }
}

TEST(Mining, RanksAreAHundredAndPowersOfTwo) {
  const OneAnchor anchor(falling(400), 1, {});
  // Positions count from 1: 101, 102, 104, 108, 116, 132, 164, 228, 356.
  EXPECT_THAT(ids(anchor.mine(options_with("ranks", 0)).negatives[0]),
              ElementsAre(100, 101, 103, 107, 115, 131, 163, 227, 355));
  EXPECT_THAT(ids(anchor.mine(options_with("ranks", 3)).negatives[0]), ElementsAre(100, 101, 103));
  MiningOptions near = options_with("ranks", 0);
  near.rank_base = 0;
  EXPECT_THAT(ids(anchor.mine(near).negatives[0]), ElementsAre(0, 1, 3, 7, 15, 31, 63, 127, 255));
  EXPECT_THAT(ids(anchor.mine(options_with("ranks", 1000)).negatives[0]), SizeIs(9));
}

TEST(Mining, OwnTextsHaveNoRank) {
  const OneAnchor anchor(falling(400), 1, {0, 50, 101});
  const MinedNegatives mined = anchor.mine(options_with("ranks", 3));
  // Position 101 is the 101st of the others.
  EXPECT_THAT(ids(mined.negatives[0]), ElementsAre(103, 104, 106));
  EXPECT_EQ(mined.counts.own, 3);
}

TEST(Mining, ASmallCorpusHasNoRankBeyondAHundred) {
  const OneAnchor anchor(falling(100), 1, {});
  const MinedNegatives mined = anchor.mine(options_with("ranks", 0));
  EXPECT_THAT(mined.negatives[0], IsEmpty());
  EXPECT_EQ(mined.counts.without, 1);
}

TEST(Mining, PlansEachTextOnceAndKnowsWhatIsAnAnchorsOwn) {
  // 10-20 and 10-21 positive, 11-10 positive: 10 is on both sides; 12-22 negative.
  const MiningPlan plan = plan_mining({{10, 10, 11, 12, 10},
                                       {20, 21, 10, 22, 20},
                                       {true, true, true, false, true},
                                       {20, 22, 20, 10, 30}});
  EXPECT_THAT(plan.texts, ElementsAre(20, 22, 10, 30, 11, 12, 21));
  EXPECT_EQ(plan.candidates, 4);
  EXPECT_THAT(plan.anchors, ElementsAre(2, 4, 5));
  EXPECT_THAT(plan.anchor_of_pair, ElementsAre(0, 0, 1, 2, 0));
  EXPECT_THAT(plan.positives, ElementsAre(ElementsAre(0, 6), ElementsAre(2), IsEmpty()));
  // Its positives 20 and 21, itself, and 11, which has it as a positive.
  EXPECT_THAT(plan.own, ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(2, 4), ElementsAre(5)));
}

Matrix<float> random_vectors(int64_t rows, int64_t D) {
  Matrix<float> vectors(rows, D);
  RandomStream stream(5, "vectors");
  for (float& value : vectors.values) value = static_cast<float>(stream.normal());
  return vectors;
}

MiningPlan random_plan() {
  MiningPairs pairs;
  for (int32_t i = 0; i < 150; ++i) {
    pairs.left.push_back(1000 + i % 120);
    pairs.right.push_back(i);
    pairs.is_positive.push_back(true);
  }
  for (int32_t i = 0; i < 500; ++i) pairs.candidates.push_back(i);
  return plan_mining(pairs);
}

TEST(Mining, AnchorsMayHaveVectorsOfTheirOwn) {
  const MiningPlan plan = plan_mining({{0, 1}, {1, 0}, {true, true}, {0, 1, 2}});
  Matrix<float> vectors(3, 2), anchors(2, 2);
  vectors.values = {1, 0, 0, 1, -1, 0};
  anchors.values = {-1, 0, 0, 2};
  const MiningScores scores =
      score_by_vectors(vectors, plan, VectorMetric::kInnerProduct, &anchors);
  EXPECT_THAT(scores.lowest_positive, testing::ElementsAre(0, 0));
  const auto ranked = scores.rank(0, 2, 1);
  EXPECT_EQ(ranked[0][0].id, 2);
  EXPECT_EQ(ranked[1][0].id, 1);
}

TEST(Mining, VectorsRankCandidatesExactlyWithAnyThreads) {
  const MiningPlan plan = random_plan();
  const Matrix<float> vectors = random_vectors(static_cast<int64_t>(plan.texts.size()), 24);
  const MiningScores scores = score_by_vectors(vectors, plan, VectorMetric::kInnerProduct);
  const int threads = thread_count();
  set_thread_count(1);
  const MinedNegatives one = mine_negatives(plan, scores, options_with("top", 5), 1);
  set_thread_count(4);
  const MinedNegatives four = mine_negatives(plan, scores, options_with("top", 5), 1);
  set_thread_count(threads);
  ASSERT_THAT(one.negatives, SizeIs(120));
  for (size_t a = 0; a < one.negatives.size(); ++a) {
    std::vector<std::pair<double, int64_t>> all;
    double lowest = 1e9;
    const float* anchor = vectors.row(plan.anchors[a]);
    for (int64_t row = 0; row < 500; ++row) {
      double dot = 0;
      for (int64_t d = 0; d < 24; ++d) dot += static_cast<double>(anchor[d]) * vectors.at(row, d);
      const auto& own = plan.own[a];
      if (std::count(own.begin(), own.end(), row) == 0) {
        all.emplace_back(-dot, row);
      } else {
        lowest = std::min(lowest, dot);
      }
    }
    std::sort(all.begin(), all.end());
    ASSERT_THAT(one.negatives[a], SizeIs(5));
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(one.negatives[a][i].id, all[i].second);
      EXPECT_EQ(one.negatives[a][i].id, four.negatives[a][i].id);
      EXPECT_EQ(one.negatives[a][i].score, four.negatives[a][i].score);
    }
    EXPECT_NEAR(scores.lowest_positive[a], lowest, 1e-12);
  }
}

TEST(Mining, FillsWithTextsThatAreNotTheAnchorsOwn) {
  const MiningPlan plan =
      plan_mining({{100, 101}, {0, 1}, {true, true}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<std::vector<int32_t>> rows = {{4, 5, 6}, {3}};
    EXPECT_EQ(fill_negatives(plan, 4, seed, rows), 4);
    for (size_t a = 0; a < 2; ++a) {
      EXPECT_THAT(rows[a], AllOf(SizeIs(4), Each(Lt(10))));
      EXPECT_EQ(std::count(rows[a].begin(), rows[a].end(), static_cast<int32_t>(a)), 0);
      EXPECT_EQ(std::set<int32_t>(rows[a].begin(), rows[a].end()).size(), 4u);
    }
    EXPECT_EQ(rows[1][0], 3);
  }
}

TEST(Mining, FillsWithRepetitionWhereThereAreNoOthers) {
  const MiningPlan plan = plan_mining({{100}, {0}, {true}, {0, 1}});
  std::vector<std::vector<int32_t>> rows(1);
  EXPECT_EQ(fill_negatives(plan, 3, 1, rows), 3);
  EXPECT_THAT(rows[0], ElementsAre(1, 1, 1));
  const MiningPlan alone = plan_mining({{100}, {0}, {true}, {0}});
  rows.assign(1, {});
  EXPECT_THROW(fill_negatives(alone, 1, 1, rows), Error);
}

TEST(Mining, PositivesAreRepeatedToTheRatioAskedFor) {
  EXPECT_EQ(positive_repeats(10, 140, 1), 14);
  EXPECT_EQ(positive_repeats(10, 140, 0.5), 7);
  EXPECT_EQ(positive_repeats(10, 14, 1), 1);
  EXPECT_EQ(positive_repeats(10, 16, 1), 2);
  EXPECT_EQ(positive_repeats(10, 140, 0), 1);
  EXPECT_EQ(positive_repeats(0, 140, 1), 1);
}

TEST(Mining, OptionsThatContradictEachOtherAreToldSo) {
  const auto message = [](auto change) -> std::string {
    MiningOptions options;
    change(options);
    return error_of(ErrorKind::kRecipe, [&] { check_mining_options(options); });
  };
  EXPECT_EQ(message([](MiningOptions&) {}), "");
  EXPECT_THAT(message([](MiningOptions& o) { o.range_min = o.range_max = 5; }),
              HasSubstr("above range_min 5"));
  EXPECT_THAT(message([](MiningOptions& o) { o.range_max = 2; }), HasSubstr("hold no 3 negatives"));
  EXPECT_THAT(message([](MiningOptions& o) {
                o.method = "ranks";
                o.range_min = 10;
              }),
              HasSubstr("the method ranks does not take: range_min;"));
}

}  // namespace
}  // namespace simile
