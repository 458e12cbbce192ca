// SPDX-License-Identifier: Apache-2.0
// The numbers a loss is computed from: pooled embeddings of one batch and its targets.
#pragma once

#include <torch/types.h>

#include <vector>

namespace simile {

// A batch of m pairs with embeddings of size D. Embeddings may be float or double, on any device;
// gradients flow to all of them.
struct LossInput {
  torch::Tensor left;                    // [m, D]
  torch::Tensor right;                   // [m, D]
  std::vector<torch::Tensor> negatives;  // n tensors [m, D]: row i of each is a negative of left i
  torch::Tensor target;                  // [m]; not defined: every pair is positive (1)

  // Equal ids mean equal texts, [m] of int64 each. Only looked at by losses that treat duplicates;
  // they may be left undefined otherwise.
  torch::Tensor left_group;
  torch::Tensor right_group;
};

// Errors (kInput): an embedding that is not [m, D] with m > 0, sides of different shapes, a target
// or group of another length; the message names the tensor and both shapes.
void check_loss_input(const LossInput& input);

// The target as a tensor like `left` in type and device: ones when it is not defined.
torch::Tensor target_or_ones(const LossInput& input);

}  // namespace simile
