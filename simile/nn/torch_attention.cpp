// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/torch_attention.h"

#include <torch/types.h>
#include <torch/version.h>

#include <cmath>

namespace simile {
namespace {

using torch::Tensor;

// Below every score, and finite: a row that sees nothing, of padding, must not become NaN.
constexpr double kHiddenScore = -1e30;

#if TORCH_VERSION_MAJOR >= 2
constexpr bool kHasOperator = true;

Tensor by_operator(const AttentionInput& input) {
  c10::optional<Tensor> added;
  if (input.shift.defined()) added = input.shift.unsqueeze(0).to(input.query.scalar_type());
  if (input.hidden.defined()) {
    const Tensor none = torch::zeros({}, input.query.options());
    added = (added ? *added : none).masked_fill(input.hidden, kHiddenScore);
  }
  if (added) {
    const auto n = input.query.sizes();
    added = added->expand({n[0], n[1], n[2], n[2]});
  }
  return at::scaled_dot_product_attention(input.query, input.key, input.value, added);
}
#else
constexpr bool kHasOperator = false;

Tensor by_operator(const AttentionInput&) { return {}; }
#endif

Tensor by_products(const AttentionInput& input) {
  const double root = std::sqrt(static_cast<double>(input.query.size(-1)));
  Tensor scores = (input.query / root).matmul(input.key.transpose(-2, -1));
  if (scores.scalar_type() == torch::kBFloat16) scores = scores.to(torch::kFloat);
  if (input.shift.defined()) scores = scores + input.shift;
  if (input.hidden.defined()) scores = scores.masked_fill(input.hidden, kHiddenScore);
  Tensor shares = torch::softmax(scores, -1);
  if (input.factors.defined()) shares = shares * input.factors;
  return shares.to(input.value.scalar_type()).matmul(input.value);
}

}  // namespace

Tensor attention_contexts(const AttentionInput& input) {
  return kHasOperator && !input.factors.defined() ? by_operator(input) : by_products(input);
}

}  // namespace simile
