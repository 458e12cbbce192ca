// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/gaussian_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/random.h"

namespace simile {
namespace {

using Json = nlohmann::json;

struct GpCase {
  Json json;
  GpData data;
  GpSettings settings;
};

std::vector<GpCase> read_cases() {
  std::ifstream file(SIMILE_SOURCE_DIR "/tests/golden/gaussian_process.json");
  std::vector<GpCase> cases;
  for (const Json& json : Json::parse(file)) {
    GpCase one;
    one.json = json;
    one.data.groups = json["groups"].get<std::vector<size_t>>();
    one.data.y = json["y"].get<std::vector<double>>();
    one.data.x = Matrix<double>(0, static_cast<int64_t>(one.data.groups.size()));
    for (const Json& row : json["x"]) {
      for (const double value : row) one.data.x.values.push_back(value);
      ++one.data.x.rows;
    }
    one.settings = {json["length_scales"].get<std::vector<double>>(), json["signal"],
                    json["noise"]};
    cases.push_back(std::move(one));
  }
  return cases;
}

TEST(GaussianProcess, PosteriorIsThatOfAnIndependentReference) {
  for (const GpCase& one : read_cases()) {
    const GaussianProcess process(one.data, one.settings);
    for (size_t i = 0; i < one.json["at"].size(); ++i) {
      const GpPrediction predicted = process.predict(one.json["at"][i].get<std::vector<double>>());
      EXPECT_NEAR(predicted.mean, one.json["predictions"][i]["mean"].get<double>(), 1e-9);
      EXPECT_NEAR(predicted.variance, one.json["predictions"][i]["variance"].get<double>(), 1e-9);
    }
  }
}

TEST(GaussianProcess, LikelihoodAndItsGradientAreThoseOfTheReference) {
  for (const GpCase& one : read_cases()) {
    std::vector<double> gradient;
    EXPECT_NEAR(gp_log_likelihood(one.data, one.settings, &gradient),
                one.json["log_likelihood"].get<double>(), 1e-8);
    const auto expected = one.json["gradient"].get<std::vector<double>>();
    ASSERT_EQ(gradient.size(), expected.size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_NEAR(gradient[i], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << i;
    }
  }
}

TEST(GaussianProcess, FittedScalesTellWhichFeatureMatters) {
  RandomStream stream(3, "test");
  GpData data;
  data.groups = {0, 1};
  data.x = Matrix<double>(30, 2);
  for (int64_t i = 0; i < 30; ++i) {
    for (int64_t j = 0; j < 2; ++j) data.x.at(i, j) = stream.uniform();
    data.y.push_back(std::sin(9 * data.x.at(i, 0)) + 0.05 * stream.normal());
  }
  const GpSettings settings = fit_gp_settings(data, 1);
  EXPECT_LT(5 * settings.length_scales[0], settings.length_scales[1]);
  EXPECT_GT(settings.noise, 0.05 * 0.05 / 5);
  EXPECT_LT(settings.noise, 0.05 * 0.05 * 5);
  const GaussianProcess process(data, settings);
  EXPECT_NEAR(process.predict({0.5, 0.5}).mean, std::sin(4.5), 0.1);
  // Nothing is nearer to it than settings that were drawn at random.
  for (int i = 0; i < 20; ++i) {
    GpSettings other = settings;
    for (double& scale : other.length_scales) scale *= std::exp(0.3 * stream.normal());
    EXPECT_LT(gp_log_likelihood(data, other), gp_log_likelihood(data, settings) + 0.5);
  }
}

TEST(GaussianProcess, ValuesThatCannotBeSolvedForAreAnError) {
  GpData data;
  data.groups = {0};
  data.x = Matrix<double>(2, 1, 0.5);
  data.y = {0, 1};
  const GpSettings settings{{1.0}, 1e12, 0};
  EXPECT_EQ(gp_log_likelihood(data, settings), -std::numeric_limits<double>::infinity());
  EXPECT_THROW(GaussianProcess(data, settings), Error);
}

}  // namespace
}  // namespace simile
