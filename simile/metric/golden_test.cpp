// SPDX-License-Identifier: Apache-2.0
// Against tests/golden/metrics.json, which tools/golden/metrics.py computes from the definitions.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/metric/agreement.h"
#include "simile/metric/ranking.h"

namespace simile {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;
using Integers = std::vector<int64_t>;
constexpr double kTolerance = 1e-12;

Json load(const char* part) {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/metrics.json");
  return Json::parse(file).at(part);
}

TEST(MetricGolden, Correlation) {
  for (const Json& c : load("correlation")) {
    const Numbers left = c["left"], right = c["right"];
    EXPECT_NEAR(pearson(left, right), c["pearson"], kTolerance);
    EXPECT_NEAR(spearman(left, right), c["spearman"], kTolerance);
    EXPECT_EQ(average_ranks(left), c["left_ranks"].get<Numbers>());
  }
}

TEST(MetricGolden, Ranking) {
  const Json golden = load("ranking");
  std::vector<std::string> names;
  for (const auto& mean : golden["means"].items()) names.push_back(mean.key());
  const auto metrics = parse_ranking_metrics(names);
  std::vector<JudgedRanking> rankings;
  for (const Json& q : golden["queries"]) {
    rankings.push_back({q["query"], q["retrieved"].get<Integers>(), q["judged"].get<Integers>()});
    EXPECT_NEAR(compute_ranking_metric(parse_ranking_metrics("ndcg@10").front(), rankings.back(),
                                       Gain::kExponential),
                q["ndcg_exponential@10"], kTolerance);
  }
  const RankingScores scores = score_rankings(rankings, metrics);
  ASSERT_EQ(scores.per_query.size(), rankings.size());
  for (size_t m = 0; m < metrics.size(); ++m) {
    EXPECT_NEAR(scores.means[m], golden["means"][names[m]], kTolerance) << names[m];
    for (size_t q = 0; q < rankings.size(); ++q) {
      EXPECT_NEAR(scores.per_query[q][m], golden["queries"][q]["metrics"][names[m]], kTolerance)
          << names[m] << " of query " << q;
    }
  }
}

TEST(MetricGolden, Threshold) {
  for (const Json& c : load("threshold")) {
    const Numbers scores = c["scores"];
    const std::vector<int> labels = c["labels"];
    const BestThreshold accuracy = find_accuracy_threshold(scores, labels);
    EXPECT_NEAR(accuracy.threshold, c["accuracy"]["threshold"], kTolerance);
    EXPECT_NEAR(accuracy.value, c["accuracy"]["value"], kTolerance);
    const BestThreshold f1 = find_f1_threshold(scores, labels);
    EXPECT_NEAR(f1.threshold, c["f1"]["threshold"], kTolerance);
    EXPECT_NEAR(f1.value, c["f1"]["value"], kTolerance);
    const BinaryCounts counts = apply_threshold(scores, labels, 0.5);
    EXPECT_NEAR(counts.accuracy(), c["at_half"]["accuracy"], kTolerance);
    EXPECT_NEAR(counts.f1(), c["at_half"]["f1"], kTolerance);
    EXPECT_NEAR(counts.mcc(), c["at_half"]["mcc"], kTolerance);
    EXPECT_NEAR(average_precision(scores, labels), c["ap"], kTolerance);
  }
}

TEST(MetricGolden, Classification) {
  for (const Json& c : load("classification")) {
    const auto scores =
        score_classes(c["gold"].get<Integers>(), c["predicted"].get<Integers>(), c["classes"]);
    EXPECT_NEAR(scores.accuracy, c["accuracy"], kTolerance);
    EXPECT_NEAR(scores.macro_f1, c["macro_f1"], kTolerance);
  }
}

}  // namespace
}  // namespace simile
