// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/gaussian_process.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "simile/core/check.h"
#include "simile/core/random.h"

namespace simile {
namespace {

struct Minimum {
  std::vector<double> at;
  double value = 0;
};

// The value at a place; fills in the gradient where the value is finite.
using SmoothFunction =
    std::function<double(const std::vector<double>& at, std::vector<double>& gradient)>;

constexpr int kMaxSteps = 100, kMaxHalvings = 25;
constexpr double kMinGain = 1e-9, kSufficient = 1e-4;
constexpr double kLongestStep = 2;  // in any coordinate

// An Eigen view of the numbers.
Eigen::Map<Eigen::VectorXd> view(std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

// The approximation of the inverse Hessian, which one step changes.
void update_inverse(Eigen::MatrixXd& inverse, const Eigen::VectorXd& step,
                    const Eigen::VectorXd& change) {
  const double curvature = step.dot(change);
  if (curvature <= 1e-12) return;
  const Eigen::VectorXd product = inverse * change;
  const double factor = (1 + change.dot(product) / curvature) / curvature;
  inverse += factor * step * step.transpose() -
             (product * step.transpose() + step * product.transpose()) / curvature;
}

// BFGS with a line search by halving (Nocedal & Wright, Numerical Optimization, 2006, ch. 6) from
// `at` on, until a step gains less than 1e-9 or 100 were taken. Stays where the start is infinite.
Minimum minimise(const SmoothFunction& function, std::vector<double> at) {
  const auto size = static_cast<Eigen::Index>(at.size());
  std::vector<double> gradient(at.size()), next(at.size()), next_gradient(at.size());
  double value = function(at, gradient);
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(size, size);
  for (int taken = 0; taken < kMaxSteps && std::isfinite(value); ++taken) {
    Eigen::VectorXd direction = -(inverse * view(gradient));
    if (direction.dot(view(gradient)) >= 0) {
      inverse.setIdentity();
      direction = -view(gradient);
    }
    const double longest = direction.cwiseAbs().maxCoeff();
    if (longest > kLongestStep) direction *= kLongestStep / longest;
    const double slope = direction.dot(view(gradient));
    double length = 1, next_value = 0;
    int halvings = 0;
    for (; halvings < kMaxHalvings; ++halvings, length /= 2) {
      view(next) = view(at) + length * direction;
      next_value = function(next, next_gradient);
      if (next_value <= value + kSufficient * length * slope) break;
    }
    if (halvings == kMaxHalvings) break;
    update_inverse(inverse, length * direction, view(next_gradient) - view(gradient));
    const double gain = value - next_value;
    std::swap(at, next);
    std::swap(gradient, next_gradient);
    value = next_value;
    if (gain < kMinGain) break;
  }
  return {std::move(at), value};
}

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kJitter = 1e-8;
constexpr double kLogTwoPi = 1.8378770664093454836;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallest = -18, kLargest = 12;  // logarithms of settings

// Normal distributions of logarithms.
constexpr double kLengthScaleDeviation = 1.7320508075688772;
constexpr double kLengthScaleMean = 1.4142135623730951 - 3.0;  // of the mode, see the header
constexpr double kSignalDeviation = 1.0;
constexpr double kNoiseMean = -6, kNoiseDeviation = 2;

struct Kernel {
  double value, scale_slope;  // the latter times (difference / length scale)^2: d by log scale
};

Kernel matern(double squared_distance, double signal) {
  const double a = std::sqrt(5 * squared_distance), decay = signal * std::exp(-a);
  return {decay * (1 + a + a * a / 3), decay * (1 + a) * 5 / 3};
}

// (x_f - x'_f)^2 / l^2, summed over the features of each group.
void add_distances(const double* a, const double* b, const GpData& data, const GpSettings& settings,
                   std::vector<double>& by_group) {
  std::fill(by_group.begin(), by_group.end(), 0.0);
  for (size_t f = 0; f < data.groups.size(); ++f) {
    const double part = (a[f] - b[f]) / settings.length_scales[data.groups[f]];
    by_group[data.groups[f]] += part * part;
  }
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

const double* row(const GpData& data, Eigen::Index i) {
  return data.x.row(static_cast<int64_t>(i));
}

MatrixXd kernel_matrix(const GpData& data, const GpSettings& settings) {
  const auto points = static_cast<Eigen::Index>(data.y.size());
  MatrixXd k(points, points);
  std::vector<double> by_group(settings.length_scales.size());
  for (Eigen::Index i = 0; i < points; ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      add_distances(row(data, i), row(data, j), data, settings, by_group);
      k(i, j) = k(j, i) = matern(sum_of(by_group), settings.signal).value;
    }
    k(i, i) = settings.signal + settings.noise + kJitter;
  }
  return k;
}

VectorXd values_of(const GpData& data) {
  return Eigen::Map<const VectorXd>(data.y.data(), static_cast<Eigen::Index>(data.y.size()));
}

// d log p = trace((alpha alpha^T - K^-1) dK) / 2.
void fill_gradient(const GpData& data, const GpSettings& settings, const MatrixXd& weights,
                   std::vector<double>& gradient) {
  const size_t groups = settings.length_scales.size();
  gradient.assign(groups + 2, 0.0);
  std::vector<double> by_group(groups);
  for (Eigen::Index i = 0; i < weights.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      add_distances(row(data, i), row(data, j), data, settings, by_group);
      const Kernel kernel = matern(sum_of(by_group), settings.signal);
      const double weight = weights(i, j);  // twice a half: (i, j) and (j, i)
      for (size_t g = 0; g < groups; ++g) gradient[g] += weight * kernel.scale_slope * by_group[g];
      gradient[groups] += weight * kernel.value;
    }
    gradient[groups] += weights(i, i) * settings.signal / 2;
    gradient[groups + 1] += weights(i, i) * settings.noise / 2;
  }
}

GpSettings settings_at(const std::vector<double>& logs) {
  GpSettings settings;
  for (size_t i = 0; i + 2 < logs.size(); ++i) settings.length_scales.push_back(std::exp(logs[i]));
  settings.signal = std::exp(logs[logs.size() - 2]);
  settings.noise = std::exp(logs.back());
  return settings;
}

struct Prior {
  double mean, deviation;
};

}  // namespace

double gp_log_likelihood(const GpData& data, const GpSettings& settings,
                         std::vector<double>* gradient) {
  const Eigen::LLT<MatrixXd> factor(kernel_matrix(data, settings));
  if (factor.info() != Eigen::Success) return -kInfinity;
  const VectorXd y = values_of(data), alpha = factor.solve(y);
  double log_determinant = 0;
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    log_determinant += 2 * std::log(factor.matrixLLT()(i, i));
  }
  if (gradient != nullptr) {
    const MatrixXd inverse = factor.solve(MatrixXd::Identity(y.size(), y.size()));
    fill_gradient(data, settings, alpha * alpha.transpose() - inverse, *gradient);
  }
  return -(y.dot(alpha) + log_determinant + static_cast<double>(y.size()) * kLogTwoPi) / 2;
}

GpSettings fit_gp_settings(const GpData& data, uint64_t seed, int64_t starts) {
  const size_t groups = 1 + *std::max_element(data.groups.begin(), data.groups.end());
  const double shift = std::log(static_cast<double>(groups)) / 2;
  std::vector<Prior> prior(groups, {kLengthScaleMean + shift, kLengthScaleDeviation});
  prior.push_back({0, kSignalDeviation});
  prior.push_back({kNoiseMean, kNoiseDeviation});
  const auto cost = [&](const std::vector<double>& logs, std::vector<double>& gradient) {
    for (const double log : logs) {
      if (log < kSmallest || log > kLargest) return kInfinity;
    }
    double sum = gp_log_likelihood(data, settings_at(logs), &gradient);
    if (!std::isfinite(sum)) return kInfinity;
    for (size_t i = 0; i < logs.size(); ++i) {
      const double part = (logs[i] - prior[i].mean) / prior[i].deviation;
      sum -= part * part / 2;
      gradient[i] = -(gradient[i] - part / prior[i].deviation);
    }
    return -sum;
  };
  RandomStream stream(seed, "gaussian process");
  Minimum best{{}, kInfinity};
  for (int64_t start = 0; start < starts; ++start) {
    std::vector<double> logs;
    for (const Prior& one : prior) {
      logs.push_back(one.mean + (start == 0 ? 0.0 : one.deviation * stream.normal()));
    }
    const Minimum found = minimise(cost, logs);
    if (best.at.empty() || found.value < best.value) best = found;
  }
  return settings_at(best.at);
}

struct GaussianProcess::State {
  GpData data;
  GpSettings settings;
  Eigen::LLT<MatrixXd> factor;
  VectorXd alpha;
};

GaussianProcess::GaussianProcess(GpData data, GpSettings settings)
    : state_(std::make_unique<State>()) {
  state_->data = std::move(data);
  state_->settings = std::move(settings);
  state_->factor.compute(kernel_matrix(state_->data, state_->settings));
  SIMILE_CHECK(state_->factor.info() == Eigen::Success, ErrorKind::kInput,
               "the Gaussian process has no solution: points too near each other for so little "
               "noise, or values that are not finite");
  state_->alpha = state_->factor.solve(values_of(state_->data));
}

GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess& GaussianProcess::operator=(GaussianProcess&&) noexcept = default;

const GpSettings& GaussianProcess::settings() const { return state_->settings; }

GpPrediction GaussianProcess::predict(const std::vector<double>& x) const {
  VectorXd k(state_->alpha.size());
  std::vector<double> by_group(state_->settings.length_scales.size());
  for (Eigen::Index i = 0; i < k.size(); ++i) {
    add_distances(x.data(), row(state_->data, i), state_->data, state_->settings, by_group);
    k(i) = matern(sum_of(by_group), state_->settings.signal).value;
  }
  const double mean = k.dot(state_->alpha);
  state_->factor.matrixL().solveInPlace(k);
  return {mean, std::max(state_->settings.signal - k.squaredNorm(), 0.0)};
}

}  // namespace simile
