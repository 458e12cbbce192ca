// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "simile/core/error.h"

namespace simile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double compute(const std::string& metric, const std::vector<int64_t>& retrieved,
               const std::vector<int64_t>& judged) {
  return compute_ranking_metric(parse_ranking_metrics(metric).front(), {"q", retrieved, judged});
}

TEST(RankingMetric, LiteralCases) {
  // Ranks 1 and 3 of five are relevant; a third relevant document was not retrieved.
  const std::vector<int64_t> retrieved = {1, 0, 1, 0, 0}, judged = {1, 1, 1, 0};
  EXPECT_DOUBLE_EQ(compute("map", retrieved, judged), (1.0 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(compute("map@2", retrieved, judged), 1.0 / 3);
  EXPECT_DOUBLE_EQ(compute("mrr", retrieved, judged), 1);
  EXPECT_DOUBLE_EQ(compute("p@2", retrieved, judged), 0.5);
  EXPECT_DOUBLE_EQ(compute("recall@2", retrieved, judged), 1.0 / 3);
  EXPECT_DOUBLE_EQ(compute("recall@100", retrieved, judged), 2.0 / 3);
  EXPECT_DOUBLE_EQ(compute("has_positive@1", retrieved, judged), 1);
  EXPECT_DOUBLE_EQ(compute("mrr", {0, 0, 1}, {1}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(compute("mrr@2", {0, 0, 1}, {1}), 0);
  EXPECT_DOUBLE_EQ(compute("has_positive@2", {0, 0, 1}, {1}), 0);
}

TEST(RankingMetric, PrecisionDividesByTheCutEvenWhenLessWasRetrieved) {
  EXPECT_DOUBLE_EQ(compute("p@10", {1, 1}, {1, 1}), 0.2);
}

TEST(RankingMetric, GainIsLinearAndTheIdealHoldsAllJudgedDocuments) {
  const double dcg = 1 / std::log2(2) + 3 / std::log2(3);
  const double ideal = 3 / std::log2(2) + 2 / std::log2(3) + 1 / std::log2(4);
  EXPECT_DOUBLE_EQ(compute("ndcg", {1, 3}, {1, 3, 2}), dcg / ideal);
  EXPECT_DOUBLE_EQ(compute("ndcg@1", {1, 3}, {1, 3, 2}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(compute("ndcg@10", {3, 2, 1}, {1, 2, 3}), 1);
  EXPECT_DOUBLE_EQ(compute("ndcg@10", {-1, 1}, {-1, 1}), 1 / std::log2(3));
}

TEST(RankingMetric, AGainThatIsNotFiniteIsAnError) {
  const RankingMetric ndcg = parse_ranking_metrics("ndcg")[0];
  EXPECT_DOUBLE_EQ(compute_ranking_metric(ndcg, {"q", {1000, 0}, {1000}}, Gain::kExponential), 1);
  EXPECT_THROW(compute_ranking_metric(ndcg, {"q", {1001, 0}, {1001}}, Gain::kExponential), Error);
  EXPECT_DOUBLE_EQ(compute_ranking_metric(ndcg, {"q", {5000, 0}, {5000}}, Gain::kLinear), 1);
}

TEST(RankingMetric, NamesAreReadAndWrittenAlike) {
  const auto metrics = parse_ranking_metrics("map mrr,p@1  ndcg@10 ndcg recall@100 has_positive@1");
  std::string names;
  for (const RankingMetric& metric : metrics) names += metric.name() + " ";
  EXPECT_EQ(names, "map mrr p@1 ndcg@10 ndcg recall@100 has_positive@1 ");
}

TEST(RankingMetric, UnknownNameIsAnErrorThatNamesTheNearest) {
  for (const char* name : {"ndgc@10", "p", "p@", "p@0", "p@-1", "p@1x", "recall", "", "  ", "@3",
                           "map map", "p@1 mrr p@01"}) {
    EXPECT_THROW(parse_ranking_metrics(std::string(name)), Error) << name;
  }
  try {
    parse_ranking_metrics("mapp");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'map'?"));
  }
}

TEST(RankingScores, QueriesWithoutARelevantDocumentAreLeftOutAndCounted) {
  const auto scores = score_rankings(
      {{"a", {1, 0}, {1}}, {"b", {0, 0}, {0, 0}}, {"c", {}, {1, 1}}, {"d", {0, 1}, {1}}},
      parse_ranking_metrics("mrr p@1"));
  EXPECT_THAT(scores.queries, ElementsAre("a", "c", "d"));
  EXPECT_THAT(scores.means, ElementsAre(0.5, 1.0 / 3));
  EXPECT_THAT(scores.per_query[2], ElementsAre(0.5, 0));
  EXPECT_EQ(scores.queries_without_relevant, 1);
  EXPECT_EQ(scores.queries_without_results, 1);
}

TEST(RankingScores, NoQueryGivesZeroAndNotNan) {
  EXPECT_THAT(score_rankings({}, parse_ranking_metrics("map")).means, ElementsAre(0));
}

TEST(TieBreak, EqualScoresFollowTheRuleAskedFor) {
  const std::vector<double> scores = {1, 2, 1, 1};
  const std::vector<std::string> ids = {"d10", "d2", "d9", "\xC3\xA9"};
  EXPECT_THAT(rank_by_score(scores, ids, TieBreak::kInput), ElementsAre(1, 0, 2, 3));
  EXPECT_THAT(rank_by_score(scores, ids, TieBreak::kId), ElementsAre(1, 0, 2, 3));
  // As strcmp: "d9" after "d10", and bytes above 127 after letters.
  EXPECT_THAT(rank_by_score(scores, ids, TieBreak::kTrecEval), ElementsAre(1, 3, 2, 0));
  EXPECT_THROW(parse_tie_break("random"), Error);
  EXPECT_EQ(parse_tie_break("trec_eval"), TieBreak::kTrecEval);
}

TEST(TieBreak, AScoreThatIsNotANumberIsAnError) {
  EXPECT_THROW(rank_by_score({1, std::nan("")}, {"a", "b"}, TieBreak::kId), Error);
}

}  // namespace
}  // namespace simile
