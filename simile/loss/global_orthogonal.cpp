// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/global_orthogonal.h"

#include <algorithm>

#include "simile/loss/detail/row_parts.h"
#include "simile/loss/normalize.h"
#include "simile/nn/row_products.h"

namespace simile {

torch::Tensor global_orthogonal_loss(const LossInput& input) {
  check_pair_input(input);
  const int64_t m = input.left.size(0), size = input.left.size(1);
  const torch::Tensor cosines = inner_products(normalize_embeddings(input.left, "l2"),
                                               normalize_embeddings(input.right, "l2"));
  const torch::Tensor own = torch::eye(m, cosines.options()).to(torch::kBool);
  const torch::Tensor others = cosines.masked_fill(own, 0.0);
  const double count = static_cast<double>(std::max<int64_t>(1, m * (m - 1)));
  // Row by row: a sum over all cells at once would depend on the number of threads.
  const torch::Tensor first = others.sum(1).sum() / count;
  const torch::Tensor second = others.square().sum(1).sum() / count;
  return first.square() + (second - 1.0 / static_cast<double>(size)).relu();
}

LossRow global_orthogonal_row() {
  return {"global_orthogonal",
          "(mean of cos(u_i, v_j))² + relu(mean of cos(u_i, v_j)² - 1/D), over i ≠ j",
          "Zhang et al., Learning Spread-out Local Feature Descriptors, 2017",
          "a part of a sum beside a loss that brings pairs together, when all cosines are high",
          "global_orthogonal",
          [](const LossOptions&) { return batch_pairs(kIgnored, kIgnored); },
          visit_own<GlobalOrthogonalOptions>,
          [](const LossOptions&, const LossInput& in, const LossContext&) {
            return global_orthogonal_loss(in);
          },
          score_output,
          no_parts};
}

}  // namespace simile
