// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/surrogate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace simile {
namespace {

constexpr double kLogRootTwoPi = 0.91893853320467274;
constexpr double kWorstOverBest = 5;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Finite, and without extremes that would flatten all else.
std::vector<double> tame_costs(const std::vector<Observation>& observations) {
  std::vector<double> finite, costs;
  for (const Observation& one : observations) {
    if (std::isfinite(one.cost)) finite.push_back(one.cost);
  }
  if (finite.empty()) return std::vector<double>(observations.size(), 0.0);
  const double best = *std::min_element(finite.begin(), finite.end());
  const double worst = *std::max_element(finite.begin(), finite.end());
  const double median = median_of(finite);
  const double bound =
      median > best ? std::min(worst, median + kWorstOverBest * (median - best)) : worst;
  for (const Observation& one : observations) {
    costs.push_back(std::isfinite(one.cost) ? std::min(one.cost, bound) : bound);
  }
  return costs;
}

GpData measured_data(const SearchSpace& space, const std::vector<Observation>& observations) {
  GpData data;
  data.groups = space.feature_settings();
  data.x = Matrix<double>(0, static_cast<int64_t>(data.groups.size()));
  for (const Observation& one : observations) {
    const std::vector<double> features = space.features(one.point);
    data.x.values.insert(data.x.values.end(), features.begin(), features.end());
    ++data.x.rows;
  }
  data.y = tame_costs(observations);
  return data;
}

// Scales to mean 0 and variance 1.
void scale_values(std::vector<double>& values, double& mean, double& scale) {
  const auto count = static_cast<double>(values.size());
  mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean) / count;
  scale = squares > 0 ? std::sqrt(squares) : 1.0;
  for (double& value : values) value = (value - mean) / scale;
}

GaussianProcess fit_process(const SearchSpace& space, GpData data,
                            const std::vector<SearchPoint>& believed, uint64_t seed) {
  GpSettings settings = fit_gp_settings(data, seed);
  if (believed.empty()) return {std::move(data), std::move(settings)};
  const GaussianProcess measured(data, settings);
  for (const SearchPoint& point : believed) {
    const std::vector<double> features = space.features(point);
    data.x.values.insert(data.x.values.end(), features.begin(), features.end());
    ++data.x.rows;
    data.y.push_back(measured.predict(features).mean);
  }
  return {std::move(data), std::move(settings)};
}

GpData scaled_data(const SearchSpace& space, const std::vector<Observation>& observations,
                   double& mean, double& scale) {
  GpData data = measured_data(space, observations);
  scale_values(data.y, mean, scale);
  return data;
}

}  // namespace

Surrogate::Surrogate(const SearchSpace& space, const std::vector<Observation>& observations,
                     const std::vector<SearchPoint>& believed, uint64_t seed)
    : space_(space),
      process_(
          fit_process(space, scaled_data(space, observations, mean_, scale_), believed, seed)) {
  lowest_mean_ = std::numeric_limits<double>::infinity();
  for (const Observation& one : observations) {
    lowest_mean_ = std::min(lowest_mean_, predict(one.point).mean);
  }
}

GpPrediction Surrogate::predict(const SearchPoint& point) const {
  const GpPrediction scaled = process_.predict(space_.features(point));
  return {mean_ + scale_ * scaled.mean, scale_ * scale_ * scaled.variance};
}

double Surrogate::noise() const { return scale_ * std::sqrt(process_.settings().noise); }

double log_expected_improvement(double best, double mean, double deviation) {
  if (deviation <= 0) {
    return best > mean ? std::log(best - mean) : -std::numeric_limits<double>::infinity();
  }
  const double z = (best - mean) / deviation;
  const double log_density = -z * z / 2 - kLogRootTwoPi;
  if (z < -30) return std::log(deviation) + log_density - 2 * std::log(-z);  // its limit
  const double tail = std::erfc(-z / std::sqrt(2.0)) / 2;
  return std::log(deviation) + std::log(std::exp(log_density) + z * tail);
}

}  // namespace simile
