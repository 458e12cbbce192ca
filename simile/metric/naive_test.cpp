// SPDX-License-Identifier: Apache-2.0
// Metrics against their definitions in the slowest form, on random lists with many equal values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simile/core/random.h"
#include "simile/metric/agreement.h"
#include "simile/metric/ranking.h"

namespace simile {
namespace {

constexpr double kTolerance = 1e-12;
using Values = std::vector<double>;

// Up to `distinct` different values, so that ties are many.
Values random_values(RandomStream& random, size_t size, uint64_t distinct) {
  Values values;
  for (size_t i = 0; i < size; ++i) {
    values.push_back(static_cast<double>(random.below(distinct)) / 4 - 1);
  }
  return values;
}

// One more than how many are smaller, and half of how many others are equal.
Values naive_ranks(const Values& values) {
  Values ranks;
  for (const double value : values) {
    double rank = 0.5;
    for (const double other : values) rank += other < value ? 1 : other == value ? 0.5 : 0;
    ranks.push_back(rank);
  }
  return ranks;
}

double naive_pearson(const Values& x, const Values& y) {
  const auto n = static_cast<double>(x.size());
  double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mx += x[i] / n;
    my += y[i] / n;
  }
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xx < 1e-20 || yy < 1e-20 ? 0 : xy / std::sqrt(xx * yy);
}

TEST(NaiveMetric, SpearmanIsPearsonOfTheRanksWithTies) {
  RandomStream random(1, "spearman");
  for (int round = 0; round < 500; ++round) {
    const size_t size = 2 + random.below(40);
    const Values x = random_values(random, size, 1 + random.below(12));
    const Values y = random_values(random, size, 1 + random.below(50));
    EXPECT_EQ(average_ranks(x), naive_ranks(x));
    EXPECT_NEAR(spearman(x, y), naive_pearson(naive_ranks(x), naive_ranks(y)), kTolerance);
  }
}

// Area under precision over recall: equal scores are taken together.
double naive_average_precision(const Values& scores, const std::vector<int>& labels) {
  const auto positives = static_cast<double>(std::count(labels.begin(), labels.end(), 1));
  double area = 0, recall_before = 0;
  const std::set<double, std::greater<>> cuts(scores.begin(), scores.end());
  for (const double cut : cuts) {
    double taken = 0, hits = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] < cut) continue;
      ++taken;
      hits += labels[i];
    }
    area += (hits / positives - recall_before) * hits / taken;
    recall_before = hits / positives;
  }
  return area;
}

TEST(NaiveMetric, AveragePrecisionTakesEqualScoresTogether) {
  RandomStream random(2, "ap");
  for (int round = 0; round < 500; ++round) {
    const size_t size = 2 + random.below(40);
    const Values scores = random_values(random, size, 1 + random.below(20));
    std::vector<int> labels = {1, 0};
    while (labels.size() < size) labels.push_back(static_cast<int>(random.below(2)));
    EXPECT_NEAR(average_precision(scores, labels), naive_average_precision(scores, labels),
                kTolerance);
  }
}

double naive_dcg(const std::vector<int64_t>& relevance, size_t cut) {
  double sum = 0;
  for (size_t i = 0; i < std::min(cut, relevance.size()); ++i) {
    if (relevance[i] > 0) {
      sum += static_cast<double>(relevance[i]) /
             (std::log(static_cast<double>(i + 2)) / std::log(2.0));
    }
  }
  return sum;
}

// The best of all orders, tried one by one.
double naive_ndcg(const JudgedRanking& ranking, size_t cut) {
  std::vector<int64_t> order = ranking.judged;
  std::sort(order.begin(), order.end());
  double best = 0;
  do {
    best = std::max(best, naive_dcg(order, cut));
  } while (std::next_permutation(order.begin(), order.end()));
  return naive_dcg(ranking.retrieved, cut) / best;
}

TEST(NaiveMetric, NdcgDividesByTheBestOfAllOrders) {
  RandomStream random(3, "ndcg");
  for (int round = 0; round < 200; ++round) {
    JudgedRanking ranking{"q", {}, {1}};
    for (uint64_t i = random.below(6); i > 0; --i) {
      ranking.judged.push_back(static_cast<int64_t>(random.below(5)) - 1);
    }
    ranking.retrieved = ranking.judged;
    ranking.retrieved.resize(ranking.judged.size() + random.below(6));
    shuffle(ranking.retrieved, random);
    ranking.retrieved.resize(random.below(ranking.retrieved.size() + 1));
    for (const size_t cut : {1, 2, 3, 10}) {
      const auto metric = parse_ranking_metrics("ndcg@" + std::to_string(cut)).front();
      EXPECT_NEAR(compute_ranking_metric(metric, ranking), naive_ndcg(ranking, cut), kTolerance);
    }
  }
}

// The precision at the rank of each relevant document, 0 for those not retrieved; their mean.
TEST(NaiveMetric, MapIsTheMeanPrecisionAtEachRelevantDocument) {
  RandomStream random(4, "map");
  for (int round = 0; round < 500; ++round) {
    JudgedRanking ranking{"q", {}, {1}};
    for (uint64_t i = random.below(20); i > 0; --i) {
      ranking.judged.push_back(static_cast<int64_t>(random.below(3)));
    }
    ranking.retrieved = ranking.judged;
    shuffle(ranking.retrieved, random);
    ranking.retrieved.resize(random.below(ranking.retrieved.size() + 1));
    double sum = 0, relevant = 0;
    for (const int64_t judged : ranking.judged) relevant += judged >= 1 ? 1 : 0;
    for (size_t rank = 1; rank <= ranking.retrieved.size(); ++rank) {
      if (ranking.retrieved[rank - 1] < 1) continue;
      const auto end = ranking.retrieved.begin() + static_cast<std::ptrdiff_t>(rank);
      const auto found = std::count_if(ranking.retrieved.begin(), end,
                                       [](int64_t relevance) { return relevance >= 1; });
      sum += static_cast<double>(found) / static_cast<double>(rank);
    }
    const auto metric = parse_ranking_metrics("map").front();
    EXPECT_NEAR(compute_ranking_metric(metric, ranking), sum / relevant, kTolerance);
  }
}

}  // namespace
}  // namespace simile
