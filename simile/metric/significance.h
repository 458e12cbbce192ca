// SPDX-License-Identifier: Apache-2.0
// Is the difference of two systems more than chance? With paired values a_i and b_i, n of them (a
// metric of two recipes under the same seeds, say) and d_i = b_i - a_i:
//
//   paired t-test      t = mean(d) / (sd(d) / sqrt(n)), p = P(|T| >= |t|) for T of Student's
//                      distribution with n - 1 degrees of freedom (Student 1908)
//   permutation test   share of the 2^n choices of signs s_i = +-1 with |sum s_i d_i| >= |sum d_i|
//                      (Fisher 1935); of all where 2^n <= 2^20, otherwise of `samples` random ones:
//                      p = (1 + hits) / (1 + samples)
//   bootstrap          interval between two percentiles of a statistic over examples drawn with
//                      replacement (Efron 1979); percentiles by linear interpolation
//   several tests      of m p-values with ranks r (1 for the smallest):
//                        Benjamini-Hochberg  min over r' >= r of m p / r': a bound of 0.05 keeps the
//                          expected share of false rejections at 5 % (J. R. Stat. Soc. B 57, 1995)
//                        Holm  max over r' <= r of (m - r' + 1) p: it keeps the probability of any
//                          false rejection at 5 % (Scand. J. Stat. 6, 1979)
//
// The values are computed in double and in an order that the input decides: same bits for any
// number of threads. Random streams: "permutation" and "bootstrap" under `seed`.
//
// Errors (ErrorKind::kInput): lists of different length, fewer than two pairs, no examples or
// samples, a value that is not finite (with its position).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace simile {

// Checks that the metrics share: both lists have the same length; every value is finite.
void check_same_length(const char* metric, size_t left, size_t right);
void check_finite(const char* metric, const std::vector<double>& values);

struct Spread {
  double mean = 0;
  double deviation = 0;  // of a sample: divided by n - 1; 0 for a single value
};

Spread measure_spread(const std::vector<double>& values);

struct TTest {
  double t = 0;  // infinite when all differences are equal and not 0
  int64_t degrees = 0;
  double p =
      1;  // two-sided; 1 when all differences are 0; all equal: that of their n signs, 2^(1-n)
};

TTest paired_t_test(const std::vector<double>& a, const std::vector<double>& b);

struct PermutationTest {
  double p = 1;  // two-sided
  int64_t permutations = 0;
  bool exact = true;  // all choices of signs were counted
};

PermutationTest paired_permutation_test(const std::vector<double>& a, const std::vector<double>& b,
                                        int64_t samples, uint64_t seed);

// A p-value corrected for the number of tests, at most 1.
struct AdjustedP {
  double benjamini_hochberg = 1, holm = 1;
};

// In the order of `p`, whose values lie in [0, 1].
std::vector<AdjustedP> adjust_p_values(const std::vector<double>& p);

// Two systems by their values under the same seeds (or folds), a and b.
struct PairedTest {
  Spread a, b;
  double difference = 0;                       // mean of b - mean of a
  std::optional<TTest> t_test;                 // with two pairs at least
  std::optional<PermutationTest> permutation;  // likewise; none with `samples` 0
};

// Each side has a value at least. Lists of different length are tested only where neither is one.
PairedTest test_pairs(const std::vector<double>& a, const std::vector<double>& b,
                      int64_t samples = 0, uint64_t seed = 1);

inline constexpr double kIntervalConfidence = 0.95;  // of the intervals that are shown

struct Interval {
  double low = 0, high = 0;
};

// A number of some examples, which may repeat: positions in [0, examples). Called from all threads.
using Statistic = std::function<double(const std::vector<int64_t>& positions)>;

// The statistic of each of `samples` choices of `examples` examples.
std::vector<double> bootstrap_values(int64_t examples, const Statistic& statistic, int64_t samples,
                                     uint64_t seed);

// Between the percentiles that cut (1 - confidence) / 2 off at both ends: 0.95 cuts off 2.5 %.
// `confidence` lies in (0, 1); there is a value at least.
Interval percentile_interval(std::vector<double> values, double confidence);

// percentile_interval() of bootstrap_values().
Interval bootstrap_interval(int64_t examples, const Statistic& statistic, double confidence,
                            int64_t samples, uint64_t seed);

// P(|T| >= |t|) for Student's distribution, and the regularised incomplete beta function I_x(a, b)
// it is made of: a, b > 0, 0 <= x <= 1, to 1e-14 (Lentz's method; Abramowitz & Stegun 26.5.8).
double student_two_sided(double t, int64_t degrees);
double incomplete_beta(double a, double b, double x);

// Numbers sorted once, for statistics of many choices of them, as a bootstrap draws them: each
// choice then takes time linear in its size and in the count of numbers.
class SortedValues {
 public:
  // None is NaN.
  explicit SortedValues(const std::vector<double>& values);

  size_t distinct() const { return distinct_; }  // how many numbers differ

  // The place of values[position] among the distinct ones, from 0 for the smallest.
  size_t place(int64_t position) const { return places_[static_cast<size_t>(position)]; }

  // The average_ranks() of the values at `positions`, which may contain repeats.
  std::vector<double> ranks(const std::vector<int64_t>& positions) const;

 private:
  std::vector<size_t> places_;
  size_t distinct_;
};

// 0, 1, ..., count - 1: the choice of all.
std::vector<int64_t> all_positions(size_t count);

}  // namespace simile
