// SPDX-License-Identifier: Apache-2.0
#include "simile/index/score_fusion.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Scores = std::vector<double>;

Scores fuse(FusionRule rule, double weight, Scores vectors, Scores words, double spread = 1) {
  fuse_scores(rule, weight, spread, vectors.data(), words.data(),
              static_cast<int64_t>(words.size()));
  return vectors;
}

// Words: mean 1, variance 2/3. Vectors: mean 0.4, variance 0.02.
const Scores kWords = {2, 0, 1}, kVectors = {0.5, 0.5, 0.2};

TEST(ScoreFusion, ZSumOfALiteralCase) {
  const double word = 1 / std::sqrt(2.0 / 3), high = 0.1 / std::sqrt(0.02), low = -2 * high;
  EXPECT_THAT(
      fuse(FusionRule::kZSum, 0.4, kVectors, kWords),
      ElementsAre(DoubleNear(0.4 * high + 0.6 * word, 1e-12),
                  DoubleNear(0.4 * high - 0.6 * word, 1e-12), DoubleNear(0.4 * low, 1e-12)));
}

TEST(ScoreFusion, ReciprocalRanksOfALiteralCase) {
  // The second document shares the first rank of the vectors, and no word finds it.
  EXPECT_THAT(fuse(FusionRule::kReciprocalRank, 0.5, kVectors, kWords),
              ElementsAre(DoubleNear(1.0 / 61, 1e-15), DoubleNear(0.5 / 61, 1e-15),
                          DoubleNear(0.5 / 63 + 0.5 / 62, 1e-15)));
}

TEST(ScoreFusion, SharesOfTheHighestOfALiteralCase) {
  EXPECT_THAT(fuse(FusionRule::kMax, 0.4, kVectors, kWords),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.4, 1e-15),
                          DoubleNear(0.4 * 1.2 / 1.5 + 0.6 * 0.5, 1e-15)));
}

TEST(ScoreFusion, CosinesOfALiteralCase) {
  // python3: [0.9 * v / 0.8 + 0.1 * w / 2 for v, w in zip((0.5, 0.5, 0.2), (2, 0, 1))]
  EXPECT_THAT(
      fuse(FusionRule::kCosine, 0.9, kVectors, kWords, 0.8),
      ElementsAre(DoubleNear(0.6625, 1e-15), DoubleNear(0.5625, 1e-15), DoubleNear(0.275, 1e-15)));
  EXPECT_THAT(fuse(FusionRule::kCosine, 0.9, {-0.5, 41}, {0, 0}),
              ElementsAre(DoubleNear(-0.45, 1e-15), DoubleNear(36.9, 1e-12)));
}

TEST(ScoreFusion, TheSpreadIsTheMeanOfATextWithItselfLessThatOfTwo) {
  const size_t n = spread_texts().size();
  Scores scores(n * n, 0.7);
  for (size_t i = 0; i < n; ++i) scores[i * n + i] = 0.98;
  EXPECT_NEAR(similarity_spread(scores), 0.28, 1e-12);
  scores[1] += 0.1 * static_cast<double>(n * (n - 1));
  EXPECT_NEAR(similarity_spread(scores), 0.18, 1e-12);
  EXPECT_EQ(similarity_spread(Scores(n * n, 0.7)), 1);  // all alike
  scores[0] = std::nan("");
  EXPECT_EQ(similarity_spread(scores), 1);
}

TEST(ScoreFusion, EqualScoresOfOneKindLeaveTheOrderToTheOther) {
  const Scores equal(3, 0.1);  // whose mean in doubles is not 0.1
  const double word = 1 / std::sqrt(2.0 / 3);
  EXPECT_THAT(fuse(FusionRule::kZSum, 0.4, equal, kWords),
              ElementsAre(DoubleNear(0.6 * word, 1e-12), DoubleNear(-0.6 * word, 1e-12), 0.0));
  EXPECT_THAT(fuse(FusionRule::kZSum, 0.4, equal, equal), Each(0.0));
  EXPECT_THAT(fuse(FusionRule::kZSum, 0.4, {0.3}, {2}), ElementsAre(0.0));
  EXPECT_THAT(fuse(FusionRule::kMax, 0.4, {-1, -1}, {0, 0}), Each(0.0));
  EXPECT_THAT(fuse(FusionRule::kZSum, 0.4, {}, {}), ElementsAre());
}

TEST(ScoreFusion, ZSumAsksForNoScale) {
  Scores larger = kVectors;
  for (double& score : larger) score = 40 * score - 7;
  const Scores fused = fuse(FusionRule::kZSum, 0.4, larger, kWords);
  const Scores same = fuse(FusionRule::kZSum, 0.4, kVectors, kWords);
  for (size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], same[i], 1e-12);
}

TEST(ScoreFusion, MaxTakesCosinesAlone) {
  try {
    fuse(FusionRule::kMax, 0.5, {0.5, 7}, {1, 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("is 7"));
  }
  EXPECT_NO_THROW(fuse(FusionRule::kMax, 0.5, {-1, 1.0000001}, {1, 1}));
}

TEST(ScoreFusion, RulesHaveNames) {
  EXPECT_EQ(parse_fusion_rule("cosine"), FusionRule::kCosine);
  EXPECT_EQ(parse_fusion_rule("zsum"), FusionRule::kZSum);
  EXPECT_EQ(parse_fusion_rule("rrf"), FusionRule::kReciprocalRank);
  EXPECT_EQ(parse_fusion_rule("max"), FusionRule::kMax);
  EXPECT_THROW(parse_fusion_rule("sum"), Error);
}

// Against tests/golden/hybrid.json, which tools/golden/hybrid.py computes from the definitions.
TEST(ScoreFusion, AgreesWithTheDefinitions) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/hybrid.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  for (const nlohmann::json& c : golden.at("fusion")) {
    const Scores expected = c["fused"];
    const Scores fused =
        fuse(parse_fusion_rule(c["rule"]), c["weight"], c["vectors"], c["words"], 9.0 / 22);
    ASSERT_EQ(fused.size(), expected.size());
    for (size_t i = 0; i < fused.size(); ++i) {
      EXPECT_NEAR(fused[i], expected[i], 1e-12) << c["rule"] << " " << c["weight"];
    }
  }
}

}  // namespace
}  // namespace simile
