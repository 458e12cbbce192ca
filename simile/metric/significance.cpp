// SPDX-License-Identifier: Apache-2.0
#include "simile/metric/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"

namespace simile {
namespace {

constexpr size_t kExactPairs = 20;

std::vector<double> paired_differences(const char* test, const std::vector<double>& a,
                                       const std::vector<double>& b) {
  check_same_length(test, a.size(), b.size());
  check_finite(test, a);
  check_finite(test, b);
  SIMILE_CHECK(a.size() >= 2, ErrorKind::kInput, "{}: expected at least two pairs, found {}", test,
               a.size());
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  return differences;
}

void check_samples(const char* test, int64_t samples) {
  SIMILE_CHECK(samples >= 1, ErrorKind::kInput, "{}: expected at least one sample, found {}", test,
               samples);
}

// The continued fraction of I_x(a, b), which converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMaximumTerms = 10000;
  const double tiny = std::numeric_limits<double>::min();
  const auto away_from_zero = [tiny](double value) {
    return std::abs(value) < tiny ? tiny : value;
  };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m <= kMaximumTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double factor = c * d;
    result *= factor;
    if (std::abs(factor - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return result;
}

// |sum| of the differences, each with a sign; rounding must not make equal sums differ.
class SignedSums {
 public:
  explicit SignedSums(const std::vector<double>& differences) : differences_(differences) {
    double sum = 0, size = 0;
    for (const double difference : differences) {
      sum += difference;
      size += std::abs(difference);
    }
    bound_ = std::abs(sum) - 1e-12 * size;
  }

  template <typename IsNegative>
  bool is_as_large(const IsNegative& is_negative) const {
    double sum = 0;
    for (size_t i = 0; i < differences_.size(); ++i) {
      sum += is_negative(i) ? -differences_[i] : differences_[i];
    }
    return std::abs(sum) >= bound_;
  }

 private:
  const std::vector<double>& differences_;
  double bound_ = 0;
};

double percentile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

void check_same_length(const char* metric, size_t left, size_t right) {
  SIMILE_CHECK(left == right, ErrorKind::kInput,
               "{}: expected two lists of the same length, found {} and {} values", metric, left,
               right);
}

void check_finite(const char* metric, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    SIMILE_CHECK(std::isfinite(values[i]), ErrorKind::kInput,
                 "{}: expected finite numbers, found {} at position {}", metric, values[i], i);
  }
}

Spread measure_spread(const std::vector<double>& values) {
  check_finite("mean", values);
  SIMILE_CHECK(!values.empty(), ErrorKind::kInput, "mean: expected at least one value, found none");
  Spread spread;
  for (const double value : values) spread.mean += value;
  spread.mean /= static_cast<double>(values.size());
  if (values.size() == 1) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

TTest paired_t_test(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> differences = paired_differences("paired t-test", a, b);
  const Spread spread = measure_spread(differences);
  TTest test;
  test.degrees = static_cast<int64_t>(differences.size()) - 1;
  if (spread.mean == 0) return test;
  // Differences that are all alike have no deviation to compare with: as likely as their signs.
  if (spread.deviation <= 1e-12 * std::abs(spread.mean)) {
    test.t = std::copysign(std::numeric_limits<double>::infinity(), spread.mean);
    test.p = std::ldexp(1.0, -static_cast<int>(std::min<int64_t>(test.degrees, 1000)));
    return test;
  }
  test.t = spread.mean / (spread.deviation / std::sqrt(static_cast<double>(differences.size())));
  test.p = student_two_sided(test.t, test.degrees);
  return test;
}

std::vector<AdjustedP> adjust_p_values(const std::vector<double>& p) {
  check_finite("p-values", p);
  const size_t m = p.size();
  std::vector<size_t> order(m);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&p](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<AdjustedP> adjusted(m);
  double holm = 0, benjamini_hochberg = 1;
  for (size_t i = 0; i < m; ++i) {
    holm = std::max(holm, std::min(1.0, static_cast<double>(m - i) * p[order[i]]));
    adjusted[order[i]].holm = holm;
  }
  for (size_t i = m; i-- > 0;) {
    const double scaled = static_cast<double>(m) / static_cast<double>(i + 1) * p[order[i]];
    benjamini_hochberg = std::min(benjamini_hochberg, scaled);
    adjusted[order[i]].benjamini_hochberg = benjamini_hochberg;
  }
  return adjusted;
}

PermutationTest paired_permutation_test(const std::vector<double>& a, const std::vector<double>& b,
                                        int64_t samples, uint64_t seed) {
  const std::vector<double> differences = paired_differences("permutation test", a, b);
  const SignedSums sums(differences);
  PermutationTest test;
  test.exact = differences.size() <= kExactPairs;
  int64_t hits = 0;
  if (test.exact) {
    test.permutations = int64_t{1} << differences.size();
    for (int64_t signs = 0; signs < test.permutations; ++signs) {
      hits += sums.is_as_large([signs](size_t i) { return (signs >> i & 1) != 0; }) ? 1 : 0;
    }
    test.p = static_cast<double>(hits) / static_cast<double>(test.permutations);
  } else {
    check_samples("permutation test", samples);
    test.permutations = samples;
    RandomStream stream(seed, "permutation");
    for (int64_t i = 0; i < samples; ++i) {
      hits += sums.is_as_large([&stream](size_t) { return (stream.next() & 1) != 0; }) ? 1 : 0;
    }
    test.p = static_cast<double>(1 + hits) / static_cast<double>(1 + samples);
  }
  return test;
}

PairedTest test_pairs(const std::vector<double>& a, const std::vector<double>& b, int64_t samples,
                      uint64_t seed) {
  PairedTest test;
  test.a = measure_spread(a);
  test.b = measure_spread(b);
  test.difference = test.b.mean - test.a.mean;
  if (a.size() < 2 || b.size() < 2) return test;
  test.t_test = paired_t_test(a, b);
  if (samples > 0) test.permutation = paired_permutation_test(a, b, samples, seed);
  return test;
}

// Sample i draws from its own substream, so threads may take the samples in any order.
std::vector<double> bootstrap_values(int64_t examples, const Statistic& statistic, int64_t samples,
                                     uint64_t seed) {
  SIMILE_CHECK(examples >= 1, ErrorKind::kInput, "bootstrap: expected examples, found none");
  check_samples("bootstrap", samples);
  std::vector<double> values(static_cast<size_t>(samples));
  run_parallel(samples, 16, [&](int64_t i) {
    RandomStream stream(seed, "bootstrap", static_cast<uint64_t>(i));
    std::vector<int64_t> positions(static_cast<size_t>(examples));
    for (int64_t& position : positions) {
      position = static_cast<int64_t>(stream.below(static_cast<uint64_t>(examples)));
    }
    values[static_cast<size_t>(i)] = statistic(positions);
  });
  check_finite("bootstrap", values);
  return values;
}

Interval percentile_interval(std::vector<double> values, double confidence) {
  SIMILE_CHECK(confidence > 0 && confidence < 1, ErrorKind::kInput,
               "bootstrap: expected a confidence between 0 and 1, found {}", confidence);
  std::sort(values.begin(), values.end());
  const double tail = (1 - confidence) / 2;
  return {percentile(values, tail), percentile(values, 1 - tail)};
}

Interval bootstrap_interval(int64_t examples, const Statistic& statistic, double confidence,
                            int64_t samples, uint64_t seed) {
  return percentile_interval(bootstrap_values(examples, statistic, samples, seed), confidence);
}

double student_two_sided(double t, int64_t degrees) {
  SIMILE_CHECK(degrees >= 1 && !std::isnan(t), ErrorKind::kInput,
               "Student's distribution: expected a number and degrees of freedom, found {} and {}",
               t, degrees);
  if (std::isinf(t)) return 0;
  const auto freedom = static_cast<double>(degrees);
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double incomplete_beta(double a, double b, double x) {
  SIMILE_CHECK(a > 0 && b > 0 && x >= 0 && x <= 1, ErrorKind::kInput,
               "incomplete beta: expected a, b > 0 and 0 <= x <= 1, found {}, {}, {}", a, b, x);
  if (x == 0 || x == 1) return x;
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  if (x < (a + 1) / (a + b + 2)) return std::exp(log_front) * beta_fraction(a, b, x) / a;
  return 1 - std::exp(log_front) * beta_fraction(b, a, 1 - x) / b;
}

SortedValues::SortedValues(const std::vector<double>& values) {
  std::vector<double> distinct = values;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  distinct_ = distinct.size();
  places_.reserve(values.size());
  for (const double value : values) {
    const auto found = std::lower_bound(distinct.begin(), distinct.end(), value);
    places_.push_back(static_cast<size_t>(found - distinct.begin()));
  }
}

std::vector<double> SortedValues::ranks(const std::vector<int64_t>& positions) const {
  std::vector<int64_t> times(distinct_, 0);
  for (const int64_t position : positions) ++times[place(position)];
  std::vector<double> rank_of_place(distinct_);
  int64_t below = 0;
  for (size_t p = 0; p < distinct_; ++p) {
    rank_of_place[p] = static_cast<double>(2 * below + times[p] + 1) / 2;
    below += times[p];
  }
  std::vector<double> ranks;
  ranks.reserve(positions.size());
  for (const int64_t position : positions) ranks.push_back(rank_of_place[place(position)]);
  return ranks;
}

std::vector<int64_t> all_positions(size_t count) {
  std::vector<int64_t> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

}  // namespace simile
