// SPDX-License-Identifier: Apache-2.0
#include "simile/loss/combo.h"

#include "simile/loss/mse.h"

namespace simile {

torch::Tensor combo_loss(const LossInput& input, const ComboOptions& options,
                         const torch::Tensor& scale) {
  if (options.mu == 0.0) return mse_loss(input);
  const torch::Tensor bsc = bsc_loss(input, options.bsc, scale);
  if (options.mu == 1.0) return bsc;
  return options.mu * bsc + (1.0 - options.mu) * mse_loss(input);
}

}  // namespace simile
