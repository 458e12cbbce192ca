// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/minimise.h"

#include <Eigen/Core>
#include <cmath>
#include <utility>

namespace simile {
namespace {

constexpr int kMostSteps = 100, kMostHalvings = 25;
constexpr double kLeastGain = 1e-9, kSufficient = 1e-4;
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

}  // namespace

Minimum minimise(const SmoothFunction& function, std::vector<double> at) {
  const auto size = static_cast<Eigen::Index>(at.size());
  std::vector<double> gradient(at.size()), next(at.size()), next_gradient(at.size());
  double value = function(at, gradient);
  Eigen::MatrixXd inverse = Eigen::MatrixXd::Identity(size, size);
  for (int taken = 0; taken < kMostSteps && std::isfinite(value); ++taken) {
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
    for (; halvings < kMostHalvings; ++halvings, length /= 2) {
      view(next) = view(at) + length * direction;
      next_value = function(next, next_gradient);
      if (next_value <= value + kSufficient * length * slope) break;
    }
    if (halvings == kMostHalvings) break;
    update_inverse(inverse, length * direction, view(next_gradient) - view(gradient));
    const double gain = value - next_value;
    std::swap(at, next);
    std::swap(gradient, next_gradient);
    value = next_value;
    if (gain < kLeastGain) break;
  }
  return {std::move(at), value};
}

}  // namespace simile
