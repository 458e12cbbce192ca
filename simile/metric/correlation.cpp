// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/correlation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "simile/core/random.h"
#include "simile/metric/detail/check.h"
#include "simile/metric/significance.h"

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

namespace {

constexpr size_t kMostCounted = 8;  // rows of which all orders are tried
constexpr int64_t kSamples = 20000;

int sign_of(double difference) { return (difference > 0) - (difference < 0); }

OrderAgreement count_pairs(const std::vector<double>& left, const std::vector<double>& right) {
  OrderAgreement pairs;
  for (size_t a = 0; a < left.size(); ++a) {
    for (size_t b = a + 1; b < left.size(); ++b) {
      const int product = sign_of(left[a] - left[b]) * sign_of(right[a] - right[b]);
      pairs.same += product > 0 ? 1 : 0;
      pairs.reversed += product < 0 ? 1 : 0;
    }
  }
  return pairs;
}

int64_t distance_of(const OrderAgreement& pairs) { return std::abs(pairs.same - pairs.reversed); }

// Equal numbers are told apart by their places, so that each order of the numbers counts equally
// often.
double share_of_all(const std::vector<double>& left, const std::vector<double>& right,
                    int64_t distance) {
  std::vector<size_t> order(right.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<double> shuffled(right.size());
  int64_t hits = 0, all = 0;
  do {
    for (size_t i = 0; i < order.size(); ++i) shuffled[i] = right[order[i]];
    hits += distance_of(count_pairs(left, shuffled)) >= distance ? 1 : 0;
    ++all;
  } while (std::next_permutation(order.begin(), order.end()));
  return static_cast<double>(hits) / static_cast<double>(all);
}

double share_of_samples(const std::vector<double>& left, std::vector<double> right,
                        int64_t distance) {
  RandomStream stream(1, "order");
  int64_t hits = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    shuffle(right, stream);
    hits += distance_of(count_pairs(left, right)) >= distance ? 1 : 0;
  }
  return static_cast<double>(1 + hits) / static_cast<double>(1 + kSamples);
}

}  // namespace

OrderAgreement compare_orders(const std::vector<double>& left, const std::vector<double>& right) {
  check_same_length("compare_orders", left.size(), right.size());
  check_finite("compare_orders", left);
  check_finite("compare_orders", right);
  OrderAgreement agreement = count_pairs(left, right);
  const int64_t pairs = agreement.same + agreement.reversed;
  if (pairs == 0) return agreement;
  agreement.tau =
      static_cast<double>(agreement.same - agreement.reversed) / static_cast<double>(pairs);
  const int64_t distance = distance_of(agreement);
  agreement.p = left.size() <= kMostCounted ? share_of_all(left, right, distance)
                                            : share_of_samples(left, right, distance);
  return agreement;
}

}  // namespace simile
