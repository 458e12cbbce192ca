// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simile/core/error.h"
#include "simile/experiment/detail/synthetic_functions_test.h"

namespace simile {
namespace {

using ::testing::HasSubstr;

SearchSpace mixed_space() { return noisy_choice_function().space; }

TEST(SearchSpace, PointsComeBackFromTheirCoordinates) {
  const SearchSpace space = mixed_space();
  RandomStream stream(1, "test");
  for (int i = 0; i < 200; ++i) {
    const SearchPoint point =
        space.decode({stream.uniform(), stream.uniform(), stream.uniform(), stream.uniform()});
    EXPECT_TRUE(space.contains(point));
    EXPECT_EQ(point[2].has_value(), *point[1] == 2);
    EXPECT_EQ(space.decode(space.encode(point)), point);
  }
  EXPECT_EQ(space.decode({0, 0, 0, 0})[0], 1e-5);
  EXPECT_EQ(space.decode({1, 0.99, 1, 1}), (SearchPoint{0.1, 2.0, 1.0, 256.0}));
}

TEST(SearchSpace, FeaturesAreOneHotAndHalfWhereThereIsNoValue) {
  const std::vector<double> features = mixed_space().features({1e-3, 1.0, std::nullopt, 8.0});
  ASSERT_EQ(features.size(), 6U);
  EXPECT_NEAR(features[0], 0.5, 1e-12);
  EXPECT_EQ(features[1], 0);
  EXPECT_NEAR(features[2], std::sqrt(0.5), 1e-12);
  EXPECT_EQ(features[4], 0.5);
  EXPECT_EQ(mixed_space().feature_settings(), (std::vector<size_t>{0, 1, 1, 1, 2, 3}));
}

TEST(SearchSpace, AGridHasEachPointOnceAndConditionsLeaveSomeOut) {
  const std::vector<SearchPoint> grid = mixed_space().grid();
  EXPECT_EQ(grid.size(), 3U * (2 + 3) * 3);
  EXPECT_EQ(std::set<SearchPoint>(grid.begin(), grid.end()).size(), grid.size());
  for (const SearchPoint& point : grid) EXPECT_TRUE(mixed_space().contains(point));
}

TEST(SearchSpace, MistakesAreNamed) {
  const auto expect = [](SearchSetting setting, const char* message) {
    try {
      const SearchSpace space({std::move(setting)});
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
      EXPECT_EQ(error.kind(), ErrorKind::kRecipe);
    }
  };
  expect(range_setting("x", 2, 1), "'x': `low` should be below `high`, found 2 and 1");
  SearchSetting log = range_setting("x", 0, 1);
  log.is_log = true;
  expect(log, "needs `low` above 0, found 0");
  SearchSetting whole = range_setting("x", 0.5, 3);
  whole.kind = SearchSetting::Kind::kInteger;
  expect(whole, "whole numbers");
  SearchSetting choice = range_setting("x", 0, 1);
  choice.kind = SearchSetting::Kind::kChoice;
  expect(choice, "`choices` is empty");
  SearchSetting grid = range_setting("x", 0, 1);
  grid.grid_points = 0;
  expect(grid, "the grid would be empty");
  SearchSetting condition = range_setting("x", 0, 1);
  condition.conditions = {{0, {0}}};
  expect(condition, "`when` should name");
  EXPECT_THROW(SearchSpace({}), Error);
}

TEST(Surrogate, ImprovementIsThatOfItsIntegral) {
  for (const double mean : {-1.0, 0.0, 0.5, 3.0}) {
    const double deviation = 0.7, best = 0.2;
    double sum = 0;
    const int cuts = 200000;
    for (int i = 0; i < cuts; ++i) {
      const double z = -10 + 20 * (i + 0.5) / cuts;
      sum += std::max(best - (mean + deviation * z), 0.0) * std::exp(-z * z / 2) * 20 / cuts;
    }
    sum /= std::sqrt(2 * std::acos(-1.0));
    EXPECT_NEAR(log_expected_improvement(best, mean, deviation), std::log(sum), 1e-4);
  }
  // Falls on where the improvement itself is 0 as a double.
  EXPECT_LT(log_expected_improvement(0, 60, 1), log_expected_improvement(0, 50, 1));
  EXPECT_TRUE(std::isfinite(log_expected_improvement(0, 60, 1)));
  EXPECT_NEAR(log_expected_improvement(0, 30.001, 1), log_expected_improvement(0, 29.999, 1), 0.2);
}

TEST(Surrogate, FailedTrialsAreTheWorstAndBelievedOnesAreCertain) {
  const SearchSpace space({range_setting("x", 0, 1)});
  const std::vector<Observation> done = {
      {{0.1}, 1.0}, {{0.4}, 0.2}, {{0.6}, 0.4}, {{0.9}, std::nan("")}};
  const Surrogate surrogate(space, done, {}, 1);
  EXPECT_GT(surrogate.predict({0.9}).mean, surrogate.predict({0.4}).mean);
  const Surrogate believing(space, done, {{0.5}}, 1);
  EXPECT_LT(believing.predict({0.5}).variance, surrogate.predict({0.5}).variance);
  const Surrogate all_failed(space, {{{0.5}, std::nan("")}}, {}, 1);
  EXPECT_TRUE(std::isfinite(all_failed.predict({0.2}).mean));
}

TEST(Surrogate, SharesOfVarianceAreOfTheWhole) {
  const auto shares = [](const SearchSpace& space, const std::vector<Observation>& done) {
    std::vector<double> all;
    for (const auto& effect : measure_effects(space, Surrogate(space, done, {}, 1), 1)) {
      all.push_back(effect.share);
    }
    return all;
  };
  const SearchSpace one({range_setting("x", 0, 1)});
  EXPECT_DOUBLE_EQ(shares(one, {{{0.1}, 1.0}, {{0.4}, 0.2}, {{0.6}, 0.4}, {{0.9}, 3.0}})[0], 1);
  EXPECT_EQ(shares(one, {{{0.1}, 0.3}, {{0.4}, 0.3}, {{0.9}, 0.3}})[0], 0);
  const SearchSpace two({range_setting("x", 0, 1), range_setting("y", 0, 1)});
  std::vector<Observation> by_x;
  for (const double x : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    for (const double y : {0.2, 0.5, 0.8}) by_x.push_back({{x, y}, 3 * x});
  }
  EXPECT_NEAR(shares(two, by_x)[0], 1, 0.01);
  EXPECT_NEAR(shares(two, by_x)[1], 0, 0.01);
  const SearchSpace mixed = mixed_space();  // one setting of it has a value at half of the points
  std::vector<Observation> done;
  for (int64_t number = 0; number < 20; ++number) {
    const SearchPoint point = *propose(mixed, {"random", 1, 1}, number, done, {});
    done.push_back({point, noisy_choice_function().value(point)});
  }
  double sum = 0;
  for (const double share : shares(mixed, done)) {
    EXPECT_GE(share, 0);
    sum += share;
  }
  EXPECT_LE(sum, 1);
}

TEST(Proposal, TheSameFindingsGiveTheSamePointAndNoneTwice) {
  const SearchSpace space = mixed_space();
  const ProposalOptions options{"gp", 6, 7};
  std::vector<Observation> done;
  std::set<SearchPoint> points;
  for (int64_t number = 0; number < 12; ++number) {
    const SearchPoint point = *propose(space, options, number, done, {});
    EXPECT_EQ(propose(space, options, number, done, {}), point);
    EXPECT_TRUE(points.insert(point).second);
    // Proposals stay away from points that are being tried.
    EXPECT_NE(*propose(space, options, number, done, {point}), point);
    done.push_back({point, noisy_choice_function().value(point)});
  }
}

TEST(Proposal, InitialPointsAreALatinHypercube) {
  const SearchSpace space({range_setting("x", 0, 1), range_setting("y", 0, 1)});
  const ProposalOptions options{"gp", 15, 1};
  std::set<int> parts[2];
  std::vector<SearchPoint> pending;
  for (int64_t number = 0; number < 15; ++number) {
    pending.push_back(*propose(space, options, number, {}, pending));
    for (size_t i = 0; i < 2; ++i) {
      parts[i].insert(static_cast<int>(*pending.back()[i] * 15));
    }
  }
  EXPECT_EQ(parts[0].size(), 15U);
  EXPECT_EQ(parts[1].size(), 15U);
}

TEST(Proposal, AFewChoicesAreAllTriedAndThenNoneIsLeft) {
  SearchSetting choice;
  choice.name = "kind";
  choice.kind = SearchSetting::Kind::kChoice;
  choice.choices = 4;
  const SearchSpace space({choice});
  for (const std::string& method : search_methods()) {
    std::vector<Observation> done;
    while (const auto point =
               propose(space, {method, 2, 1}, static_cast<int64_t>(done.size()), done, {})) {
      done.push_back({*point, *(*point)[0]});
      ASSERT_LE(done.size(), 4U) << method;
    }
    EXPECT_EQ(done.size(), 4U) << method;
  }
}

double median_of_seeds(const SyntheticFunction& function, const std::string& method,
                       int64_t count) {
  std::vector<double> lowest;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    lowest.push_back(search_function(function, {method, 10, seed}, count).back());
  }
  std::sort(lowest.begin(), lowest.end());
  return lowest[2] - function.minimum;
}

// bench/tune_bench.cpp has 20 seeds and more evaluations.
TEST(Proposal, TheSurrogateNeedsFewerEvaluationsThanRandomSearch) {
  for (const SyntheticFunction& function :
       {branin_function(), hartmann6_function(), noisy_choice_function()}) {
    EXPECT_LT(median_of_seeds(function, "gp", 35), median_of_seeds(function, "random", 70))
        << function.name;
  }
}

}  // namespace
}  // namespace simile
