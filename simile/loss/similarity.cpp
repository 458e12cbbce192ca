// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/similarity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include "simile/core/error.h"
#include "simile/nn/row_products.h"

namespace simile {
namespace {

using torch::Tensor;

constexpr double kSmallestDivisor = 1e-12;

// x / divisor, and 0 without gradient where the divisor is too small. Both branches of where() are
// finite, since a gradient of zero times infinity would be NaN.
Tensor divide_guarded(const Tensor& x, const Tensor& divisor) {
  const Tensor usable = divisor > kSmallestDivisor;
  const Tensor quotient = x / torch::where(usable, divisor, torch::ones_like(divisor));
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

Tensor normalize_embeddings(const Tensor& x, const std::string& name) {
  if (name == "none") return x;
  if (name == "l2") {
    return has_unit_rows(x) ? unit_rows(x) : divide_guarded(x, x.norm(2, {1}, true));
  }
  if (name == "coordinate_l2") return divide_guarded(x, x.norm(2, {0}, true));
  SIMILE_CHECK(name == "coordinate_range" || name == "coordinate_minmax", ErrorKind::kRecipe,
               fmt::format("'{}' is no normalisation; choose one of {}", name,
                           fmt::join(normalization_names(), ", ")));
  const Tensor minimum = x.amin({0}, true);
  const Tensor range = x.amax({0}, true) - minimum;
  return divide_guarded(name == "coordinate_range" ? x : x - minimum, range);
}

Tensor row_cosine(const Tensor& u, const Tensor& v) {
  return (normalize_embeddings(u, "l2") * normalize_embeddings(v, "l2")).sum(1);
}

Tensor row_euclidean(const Tensor& u, const Tensor& v) { return (u - v).norm(2, {1}); }

Tensor row_distance(const Tensor& u, const Tensor& v, const std::string& name) {
  if (name == "cosine") return 1.0 - row_cosine(u, v);
  if (name == "euclidean") return row_euclidean(u, v);
  SIMILE_CHECK(name == "manhattan", ErrorKind::kRecipe,
               "'" + name + "' is no distance; choose one of cosine, euclidean, manhattan");
  return (u - v).abs().sum(1);
}

Tensor single_logits(const LossInput& input, const char* loss) {
  check_loss_input(input);
  SIMILE_CHECK(input.logits.defined(), ErrorKind::kInput,
               fmt::format("loss: {} needs the number a head gives each pair, and there is no "
                           "head; give the objective a head with one output",
                           loss));
  const int64_t m = input.left.size(0);
  SIMILE_CHECK(input.logits.dim() == 2 && input.logits.size(0) == m && input.logits.size(1) == 1,
               ErrorKind::kInput,
               fmt::format("loss: {} needs one number a pair from the head, [{}, 1], found [{}]; "
                           "give the head one output",
                           loss, m, fmt::join(input.logits.sizes(), ", ")));
  return input.logits.squeeze(1);
}

Tensor pair_scores(const LossInput& input) {
  if (input.logits.defined()) return single_logits(input, "a score");
  check_pair_input(input);
  return row_cosine(input.left, input.right);
}

}  // namespace simile
