// SPDX-License-Identifier: Apache-2.0
// The one score of each pair that graded losses compare with its target.
#pragma once

#include <torch/types.h>

#include "simile/loss/loss_input.h"

namespace simile {

// [m]: the head's number for each pair (LossInput::logits) if there is a head, otherwise the
// cosine of u_i and v_i. Errors: as check_loss_input(); kInput for logits that are not [m, 1], and
// without logits as check_pair_input().
torch::Tensor pair_scores(const LossInput& input);

// The head's numbers as [m]. Errors (kInput): logits that are missing or not [m, 1]; the message
// names `loss`.
torch::Tensor single_logits(const LossInput& input, const char* loss);

}  // namespace simile
