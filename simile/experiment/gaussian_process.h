// SPDX-License-Identifier: Apache-2.0
// A Gaussian process over points in [0, 1]^d: it predicts a function at new points from
// measurements at others (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, ch.
// 2 and 5).
//
//   k(x, x') = s (1 + a + a^2 / 3) exp(-a),  a = sqrt(5) r,
//   r^2      = sum over features f of (x_f - x'_f)^2 / l_g(f)^2          Matern 5/2, ARD
//   y        = f(x) + noise of variance n,  f ~ GP(0, k)
//
// Features of one group (the choices of a setting) share a length scale l_g.
//
// Memory: two matrices [points, points] of doubles. One thread; the same bits each time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simile/core/matrix.h"

namespace simile {

struct GpData {
  Matrix<double> x;            // [points, features]
  std::vector<double> y;       // [points]
  std::vector<size_t> groups;  // [features], from 0 without gaps
};

struct GpSettings {
  std::vector<double> length_scales;  // [groups]
  double signal = 1;                  // s
  double noise = 1e-4;                // n; 1e-8 is added for the factors of the matrix
};

// log p(y | x) = -(y^T K^-1 y + log det K + points log 2 pi) / 2 with K = k(x, x) + n I.
// `gradient`, unless null, becomes that by the logarithms of the length scales, the signal and the
// noise. Minus infinity, without a gradient, where K has no Cholesky factor.
double gp_log_likelihood(const GpData& data, const GpSettings& settings,
                         std::vector<double>* gradient = nullptr);

// The settings of the highest likelihood times a weak prior: log-normal on length scales (as by
// Hvarfner et al., ICML 2024, which grow with the root of the groups), on signal around 1 and noise
// around 2e-3, for y of variance 1. BFGS by gradients from `starts` starts, all but the first drawn
// from the stream "gaussian process" under `seed`.
GpSettings fit_gp_settings(const GpData& data, uint64_t seed, int64_t starts = 4);

struct GpPrediction {
  double mean = 0;
  double variance = 0;  // of f, without noise
};

class GaussianProcess {
 public:
  // Errors (ErrorKind::kInput): K has no Cholesky factor.
  GaussianProcess(GpData data, GpSettings settings);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;

  GpPrediction predict(const std::vector<double>& x) const;
  const GpSettings& settings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace simile
