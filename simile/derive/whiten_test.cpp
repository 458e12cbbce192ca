// SPDX-License-Identifier: Apache-2.0
#include "simile/derive/whiten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/encode/head.h"

namespace simile {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Matrix<float> read_matrix(const json& rows) {
  Matrix<float> matrix(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows[i].get<std::vector<float>>();
    std::copy(row.begin(), row.end(), matrix.row(static_cast<int64_t>(i)));
  }
  return matrix;
}

// Correlated normals around a mean that is not 0.
Matrix<float> random_sample(int64_t rows, int64_t columns) {
  RandomStream stream(9, "sample");
  Matrix<float> sample(rows, columns);
  for (int64_t i = 0; i < rows; ++i) {
    double common = 1;
    for (int64_t j = 0; j < columns; ++j) {
      common = 0.7 * common + stream.normal();
      sample.at(i, j) = static_cast<float>(common * static_cast<double>(1 + j % 3));
    }
  }
  return sample;
}

WhiteningOptions with(double power, bool center) {
  WhiteningOptions options;
  options.power = power;
  options.center = center;
  options.epsilon = 0;
  return options;
}

double mean_product(const Matrix<float>& rows, int64_t a, int64_t b) {
  double sum = 0;
  for (int64_t i = 0; i < rows.rows; ++i) sum += double{rows.at(i, a)} * rows.at(i, b);
  return sum / static_cast<double>(rows.rows);
}

TEST(WhiteningGolden, MapMeanAndVectorsAreThoseOfTheIndependentImplementation) {
  const json golden = json::parse(read_file(SIMILE_SOURCE_DIR "/tests/golden/whitening.json"));
  const Matrix<float> sample = read_matrix(golden["sample"]);
  for (const json& of_case : golden["cases"]) {
    WhiteningOptions options;
    read_options(parse_config(of_case["options"].dump(), "whitening.json"), options);
    const Whitening whitening = fit_whitening(sample, options);
    const Matrix<float> map = read_matrix(of_case["map"]),
                        expected = read_matrix(of_case["expected"]);
    ASSERT_EQ(whitening.map.values.size(), map.values.size());
    for (size_t i = 0; i < map.values.size(); ++i) {
      EXPECT_NEAR(whitening.map.values[i], map.values[i], 1e-4 * (1 + std::abs(map.values[i])));
    }
    for (size_t j = 0; j < whitening.mean.size(); ++j) {
      EXPECT_NEAR(whitening.mean[j], of_case["mean"][j].get<double>(), 1e-6);
    }
    for (size_t j = 0; j < whitening.deviations.size(); ++j) {
      EXPECT_NEAR(whitening.deviations[j], of_case["deviations"][j].get<double>(),
                  5e-6 * whitening.deviations[0]);
    }
    const Matrix<float> actual = ModuleChain({dense_module(whitening, sample.cols)})(sample);
    for (size_t i = 0; i < expected.values.size(); ++i) {
      EXPECT_NEAR(actual.values[i], expected.values[i], 2e-4 * (1 + std::abs(expected.values[i])));
    }
  }
}

TEST(Whitening, TheSampleVariesByTheGivenPowerOfItsDeviations) {
  const Matrix<float> sample = random_sample(2000, 12);
  for (const bool center : {false, true}) {
    for (const double power : {0.0, 0.3, 0.5, 1.0}) {
      const Whitening whitening = fit_whitening(sample, with(power, center));
      const Matrix<float> rows = ModuleChain({dense_module(whitening, 12)})(sample);
      const double first = mean_product(rows, 0, 0);
      double before = 0, after = 0;
      for (int64_t a = 0; a < 12; ++a) {
        before += std::pow(whitening.deviations[static_cast<size_t>(a)], 2);
        after += mean_product(rows, a, a);
        const double ratio = whitening.deviations[static_cast<size_t>(a)] / whitening.deviations[0];
        for (int64_t b = 0; b < 12; ++b) {
          const double expected = a == b ? first * std::pow(ratio, 2 - 2 * power) : 0;
          EXPECT_NEAR(mean_product(rows, a, b), expected, 2e-4 * first) << power << center;
        }
      }
      EXPECT_NEAR(after, before, 1e-4 * before);
    }
  }
}

TEST(Whitening, LeadingDimensionsAreThoseOfTheWholeMapButForItsScale) {
  const Matrix<float> sample = random_sample(500, 12);
  WhiteningOptions options = with(0.5, true);
  const Whitening whole = fit_whitening(sample, options);
  options.dimensions = 5;
  const Whitening part = fit_whitening(sample, options);
  EXPECT_EQ(part.map.cols, 5);
  EXPECT_GT(part.kept, 0.5);
  EXPECT_LT(part.kept, 1);
  EXPECT_EQ(whole.kept, 1);
  const float scale = part.map.at(0, 0) / whole.map.at(0, 0);
  for (int64_t i = 0; i < 12; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      EXPECT_NEAR(part.map.at(i, j), scale * whole.map.at(i, j), 1e-5);
    }
  }
}

// Ten texts of three to seven tokens; token 0 has a row of zeros and is in all of them.
TEST(Whitening, FoldedIntoATableItGivesTheDirectionsOfTheDenseModule) {
  const Matrix<float> sample = random_sample(200, 6);
  Matrix<float> table = random_sample(30, 6);
  std::fill_n(table.row(0), 6, 0.0f);
  RandomStream stream(9, "texts");
  for (const bool center : {false, true}) {
    const Whitening whitening = fit_whitening(sample, with(0.5, center));
    const Matrix<float> folded = fold_into_table(table, whitening);
    for (int64_t j = 0; j < 6; ++j) EXPECT_EQ(folded.at(0, j), 0);
    const ModuleChain dense({dense_module(whitening, 6)});
    for (int text = 0; text < 10; ++text) {
      const int64_t counted = 2 + text % 5, all = counted + 1;
      Matrix<float> mean(1, 6), mean_of_counted(1, 6);
      std::vector<double> pooled(6, 0.0);
      for (int64_t token = 0; token < counted; ++token) {
        const auto id = static_cast<int64_t>(1 + stream.below(29));
        for (int64_t j = 0; j < 6; ++j) {
          mean.at(0, j) += table.at(id, j) / static_cast<float>(all);
          mean_of_counted.at(0, j) += table.at(id, j) / static_cast<float>(counted);
          pooled[static_cast<size_t>(j)] += folded.at(id, j) / static_cast<double>(all);
        }
      }
      const Matrix<float> expected = dense(center ? mean_of_counted : mean);
      const double shrunk = center ? static_cast<double>(counted) / static_cast<double>(all) : 1;
      for (int64_t j = 0; j < 6; ++j) {
        EXPECT_NEAR(pooled[static_cast<size_t>(j)], shrunk * expected.at(0, j), 1e-5);
      }
    }
  }
}

TEST(Whitening, ADenseModuleLeavesOutLaterNumbers) {
  const Whitening whitening = fit_whitening(random_sample(100, 4), with(0.5, true));
  const ModuleSettings narrow = dense_module(whitening, 4), wide = dense_module(whitening, 6);
  EXPECT_EQ(wide.inputs, 6);
  EXPECT_EQ(wide.outputs, 4);
  Matrix<float> x(1, 4), longer(1, 6);
  x.values = {1, 2, 3, 4};
  longer.values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(ModuleChain({wide})(longer).values, ModuleChain({narrow})(x).values);
}

TEST(Whitening, AnAxisThatHardlyVariesIsNotBlownUp) {
  Matrix<float> sample = random_sample(100, 4);
  for (int64_t i = 0; i < sample.rows; ++i) sample.at(i, 2) = 0;
  WhiteningOptions options = with(1, true);
  options.epsilon = 1e-3;
  const Whitening whitening = fit_whitening(sample, options);
  EXPECT_NEAR(whitening.deviations[3], 0, 1e-4);
  for (const float value : whitening.map.values) EXPECT_LT(std::abs(value), 100);
  options.epsilon = 0;
  for (const float value : fit_whitening(sample, options).map.values) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Whitening, TheSameBitsWithAnyNumberOfThreads) {
  const Matrix<float> sample = random_sample(3000, 40);
  set_thread_count(1);
  const Whitening one = fit_whitening(sample, with(0.5, true));
  set_thread_count(3);
  const Whitening three = fit_whitening(sample, with(0.5, true));
  EXPECT_EQ(one.map.values, three.map.values);
  EXPECT_EQ(one.mean, three.mean);
  set_thread_count(2);
}

TEST(Whitening, TooFewTextsSayHowManyItTakes) {
  try {
    fit_whitening(random_sample(23, 12), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("12 numbers needs at least 24 texts, and 23 were given"));
    EXPECT_THAT(error.what(), HasSubstr("give more"));
  }
  EXPECT_NO_THROW(fit_whitening(random_sample(24, 12), {}));
}

TEST(Whitening, SamplesThatSayNothingAreRefused) {
  Matrix<float> sample(50, 3, 0.3f);
  EXPECT_THROW(fit_whitening(sample, with(0.5, true)), Error);
  sample.values[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(fit_whitening(sample, with(0.5, false)), Error);
  EXPECT_THROW(fit_whitening(Matrix<float>(50, 3), with(0.5, false)), Error);
  WhiteningOptions options;
  options.dimensions = 4;
  EXPECT_THROW(fit_whitening(random_sample(50, 3), options), Error);
}

}  // namespace
}  // namespace simile
