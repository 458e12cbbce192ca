// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/mse.h"

#include "simile/loss/similarity.h"

namespace simile {

torch::Tensor mse_loss(const LossInput& input) {
  check_loss_input(input);
  return (row_cosine(input.left, input.right) - target_or_ones(input)).square().mean();
}

}  // namespace simile
