// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/correlation.h"

#include <algorithm>
#include <cmath>

#include "simile/metric/detail/check.h"
#include "simile/metric/sorted_values.h"

namespace simile {
namespace {

// Differences from the mean, scaled so that no square can overflow or vanish; empty when constant.
std::vector<double> centre(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return {};
  const double scale = std::max(std::fabs(*low), std::fabs(*high));
  std::vector<double> centred(values.size());
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += centred[i] = values[i] / scale;
  const double mean = sum / static_cast<double>(values.size());
  double largest = 0;
  for (double& value : centred) {
    value -= mean;
    largest = std::max(largest, std::fabs(value));
  }
  if (largest == 0) return {};
  for (double& value : centred) value /= largest;
  return centred;
}

}  // namespace

double pearson(const std::vector<double>& left, const std::vector<double>& right) {
  check_same_length("pearson", left.size(), right.size());
  check_finite("pearson", left);
  check_finite("pearson", right);
  if (left.size() < 2) return 0;
  const std::vector<double> x = centre(left), y = centre(right);
  if (x.empty() || y.empty()) return 0;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

std::vector<double> average_ranks(const std::vector<double>& values) {
  check_finite("average_ranks", values);
  return SortedValues(values).ranks(all_positions(values.size()));
}

double spearman(const std::vector<double>& left, const std::vector<double>& right) {
  check_same_length("spearman", left.size(), right.size());
  return pearson(average_ranks(left), average_ranks(right));
}

}  // namespace simile
