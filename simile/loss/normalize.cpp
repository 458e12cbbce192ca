// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/normalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simile/core/error.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

constexpr double kSmallestDivisor = 1e-12;

// x / divisor, and 0 without gradient where the divisor is too small. Both branches of where() are
// finite, since a gradient of zero times infinity would be NaN.
torch::Tensor divide_guarded(const torch::Tensor& x, const torch::Tensor& divisor) {
  const torch::Tensor usable = divisor > kSmallestDivisor;
  const torch::Tensor quotient = x / torch::where(usable, divisor, torch::ones_like(divisor));
  return torch::where(usable, quotient, torch::zeros_like(quotient));
}

}  // namespace

const std::vector<std::string>& normalization_names() {
  static const std::vector<std::string> names = {"none", "l2", "coordinate_l2", "coordinate_range",
                                                 "coordinate_minmax"};
  return names;
}

bool is_coordinate_normalization(const std::string& name) {
  return name.rfind("coordinate_", 0) == 0;
}

torch::Tensor normalize_embeddings(const torch::Tensor& x, const std::string& name) {
  if (name == "none") return x;
  if (name == "l2") {
    return has_unit_rows(x) ? unit_rows(x) : divide_guarded(x, x.norm(2, {1}, true));
  }
  if (name == "coordinate_l2") return divide_guarded(x, x.norm(2, {0}, true));
  SIMILE_CHECK(name == "coordinate_range" || name == "coordinate_minmax", ErrorKind::kRecipe,
               fmt::format("'{}' is no normalisation; choose one of {}", name,
                           fmt::join(normalization_names(), ", ")));
  const torch::Tensor minimum = x.amin({0}, true);
  const torch::Tensor range = x.amax({0}, true) - minimum;
  return divide_guarded(name == "coordinate_range" ? x : x - minimum, range);
}

}  // namespace simile
