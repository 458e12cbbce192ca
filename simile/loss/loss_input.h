// SPDX-License-Identifier: Apache-2.0
// The numbers a loss is computed from: pooled embeddings of one batch, its targets, and what heads
// and frozen models make of the same texts.
#pragma once

#include <torch/types.h>

#include <vector>

#include "simile/kernel/matrix_product.h"

namespace simile {

// A batch of m pairs, or of m single texts, with embeddings of size D. Embeddings may be float or
// double, on any device; gradients flow to all of them and to the logits.
struct LossInput {
  torch::Tensor left;                    // [m, D]
  torch::Tensor right;                   // [m, D]; not defined for single texts
  std::vector<torch::Tensor> negatives;  // n tensors [m, D]: row i of each is a negative of left i
  torch::Tensor target;                  // [m]; not defined: every pair is positive (1)
  torch::Tensor classes;                 // [m] of int64 from 0; not defined: there are none

  // Equal ids mean equal texts, [m] of int64 each. Only looked at by losses that treat duplicates;
  // they may be left undefined otherwise.
  torch::Tensor left_group;
  torch::Tensor right_group;

  // What the objective's head gives (simile/nn/head.h): logits of each pair or text, and, for
  // losses that compare every left with every right, those of all pairs of the batch. Not defined:
  // no head.
  torch::Tensor logits;        // [m, k]
  torch::Tensor cross_logits;  // [m, m + n·m], columns as bsc.h stacks its right side

  // The vectors that frozen models gave the same texts, per model [m, E]; without gradients.
  std::vector<torch::Tensor> left_teachers;
  std::vector<torch::Tensor> right_teachers;  // empty for single texts

  // In what numbers the scores of all pairs of a batch are multiplied, where they are of no use but
  // for a softmax over them (simile/nn/row_products.h).
  ProductType products = ProductType::kFloat;
};

// Errors (kInput): an embedding that is not [m, D] with m > 0, sides of different shapes, a target,
// group, class, logit or teacher's vector for another number of pairs; the message names the tensor
// and both shapes.
void check_loss_input(const LossInput& input);

// The same, and there is a right side.
void check_pair_input(const LossInput& input);

// The target as a tensor like `left` in type and device: ones when it is not defined.
torch::Tensor target_or_ones(const LossInput& input);

}  // namespace simile
