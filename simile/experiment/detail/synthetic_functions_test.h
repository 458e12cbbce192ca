// SPDX-License-Identifier: Apache-2.0
// Functions with known minima, on which searches are measured, and a search on one of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "simile/core/random.h"
#include "simile/experiment/proposal.h"

namespace simile {

struct SyntheticFunction {
  std::string name;
  SearchSpace space;
  std::function<double(const SearchPoint&)> value;  // without noise
  double minimum = 0;
  double noise = 0;  // standard deviation of what a search is told
};

inline SearchSetting range_setting(const std::string& name, double low, double high) {
  SearchSetting setting;
  setting.name = name;
  setting.low = low;
  setting.high = high;
  return setting;
}

inline double branin(double x, double y) {
  const double pi = std::acos(-1.0);
  const double inner = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return inner * inner + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10;
}

inline SyntheticFunction branin_function() {
  return {"Branin", SearchSpace({range_setting("x", -5, 10), range_setting("y", 0, 15)}),
          [](const SearchPoint& point) { return branin(*point[0], *point[1]); }, 0.397887};
}

inline SyntheticFunction hartmann6_function() {
  std::vector<SearchSetting> settings;
  for (int i = 0; i < 6; ++i) settings.push_back(range_setting("x" + std::to_string(i), 0, 1));
  const auto value = [](const SearchPoint& point) {
    constexpr double kWeights[4] = {1, 1.2, 3, 3.2};
    constexpr double kScales[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                      {0.05, 10, 17, 0.1, 8, 14},
                                      {3, 3.5, 1.7, 10, 17, 8},
                                      {17, 8, 0.05, 10, 0.1, 14}};
    constexpr double kPlaces[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                      {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                      {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                      {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      double exponent = 0;
      for (size_t j = 0; j < 6; ++j) {
        const double part = *point[j] - kPlaces[i][j];
        exponent += kScales[i][j] * part * part;
      }
      sum += kWeights[i] * std::exp(-exponent);
    }
    return -sum;
  };
  return {"Hartmann-6", SearchSpace(std::move(settings)), value, -3.32237};
}

// Similar to training: a rate by its logarithm, a choice of three kinds, one with a setting of its
// own, and noise. The minimum, 0, is at rate 1e-3, kind 2 and temperature 0.1.
inline SyntheticFunction noisy_choice_function() {
  SearchSetting rate = range_setting("rate", 1e-5, 1e-1);
  rate.is_log = true;
  SearchSetting kind;
  kind.name = "kind";
  kind.kind = SearchSetting::Kind::kChoice;
  kind.choices = 3;
  SearchSetting temperature = range_setting("temperature", 0.01, 1);
  temperature.is_log = true;
  temperature.conditions = {{1, {2}}};
  SearchSetting size = range_setting("size", 8, 256);
  size.kind = SearchSetting::Kind::kInteger;
  size.is_log = true;
  const auto value = [](const SearchPoint& point) {
    const double rate = std::log10(*point[0]) + 3, size = std::log2(*point[3] / 64) / 5;
    double cost = 1 - std::exp(-rate * rate) + 0.1 * size * size;
    if (*point[1] == 0) cost += 0.3;
    if (*point[1] == 1) cost += 0.15;
    if (point[2]) {
      const double part = std::log10(*point[2]) + 1;
      cost += 0.4 * (1 - std::exp(-4 * part * part));
    }
    return cost;
  };
  return {"noisy with a choice", SearchSpace({rate, kind, temperature, size}), value, 0, 0.02};
}

// The lowest value without noise after each of `count` points.
inline std::vector<double> search_function(const SyntheticFunction& function,
                                           const ProposalOptions& options, int64_t count) {
  RandomStream noise(options.seed, "synthetic noise");
  std::vector<Observation> done;
  std::vector<double> lowest;
  for (int64_t number = 0; number < count; ++number) {
    const SearchPoint point = *propose(function.space, options, number, done, {});
    const double value = function.value(point);
    lowest.push_back(lowest.empty() ? value : std::min(lowest.back(), value));
    done.push_back({point, value + function.noise * noise.normal()});
  }
  return lowest;
}

}  // namespace simile
