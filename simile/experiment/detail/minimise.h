// SPDX-License-Identifier: Apache-2.0
// The minimum of a smooth function of a few numbers, by its gradient.
#pragma once

#include <functional>
#include <vector>

namespace simile {

struct Minimum {
  std::vector<double> at;
  double value = 0;
};

// The value at a place; fills in the gradient where the value is finite.
using SmoothFunction =
    std::function<double(const std::vector<double>& at, std::vector<double>& gradient)>;

// BFGS with a line search by halving (Nocedal & Wright, Numerical Optimization, 2006, ch. 6) from
// `at` on, until a step gains less than 1e-9 or 100 were taken. Where the function is infinite at
// the start it stays there.
Minimum minimise(const SmoothFunction& function, std::vector<double> at);

}  // namespace simile
