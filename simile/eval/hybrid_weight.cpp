// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/hybrid_weight.h"

#include <cmath>
#include <numeric>

namespace simile {
namespace {

constexpr int64_t kSteps = 20;  // of the weights from 0 to 1
constexpr int64_t kSamples = 1000;
constexpr uint64_t kSeed = 1;
constexpr double kShare = 0.9;

double weight_of(double step) { return step / kSteps; }

// The step whose sum over the positions is highest.
int64_t best_step(const Matrix<double>& values, const std::vector<int64_t>& positions,
                  double preferred) {
  std::vector<double> sums(static_cast<size_t>(values.cols), 0);
  for (const int64_t q : positions) {
    for (int64_t w = 0; w < values.cols; ++w) sums[static_cast<size_t>(w)] += values.at(q, w);
  }
  // The same numbers in another order have sums that may differ in their last bits.
  const double tolerance = 1e-12 * static_cast<double>(positions.size());
  const auto distance = [&](int64_t step) { return std::fabs(step - preferred * kSteps); };
  int64_t best = 0;
  for (int64_t w = 1; w < values.cols; ++w) {
    const double lead = sums[static_cast<size_t>(w)] - sums[static_cast<size_t>(best)];
    const bool is_alike = std::fabs(lead) <= tolerance;
    if (is_alike ? distance(w) < distance(best) - 1e-9 : lead > 0) best = w;
  }
  return best;
}

}  // namespace

std::vector<double> hybrid_weights() {
  std::vector<double> weights;
  for (int64_t step = 0; step <= kSteps; ++step) {
    weights.push_back(weight_of(static_cast<double>(step)));
  }
  return weights;
}

WeightChoice choose_hybrid_weight(const Matrix<double>& values, double preferred) {
  const auto vote = [&](const std::vector<int64_t>& positions) {
    return static_cast<double>(best_step(values, positions, preferred));
  };
  const std::vector<double> votes = bootstrap_values(values.rows, vote, kSamples, kSeed);
  const double mean = std::accumulate(votes.begin(), votes.end(), 0.0) / kSamples;
  const int64_t step = std::llround(mean);
  const Interval steps = percentile_interval(votes, kShare);
  WeightChoice choice;
  choice.weight = weight_of(static_cast<double>(step));
  choice.votes = {weight_of(steps.low), weight_of(steps.high)};
  for (int64_t q = 0; q < values.rows; ++q) choice.value += values.at(q, step);
  choice.value /= static_cast<double>(values.rows);
  return choice;
}

}  // namespace simile
