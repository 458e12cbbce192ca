// SPDX-License-Identifier: Apache-2.0
// How far apart two outputs of a model for the same texts are: the measure l_s of
// smoothness-inducing regularisation ("That was smooth", eq. 6 and 7; Jiang et al., SMART, 2020).
//
//   logits [m, k]   (1/m) Σ_i Σ_j (p_ij - q_ij) (log p_ij - log q_ij),  p, q the row softmaxes of a
//                   and b: the symmetrised Kullback-Leibler divergence KL(p‖q) + KL(q‖p)
//   logits [m, 1]   the same of the Bernoulli distributions sigmoid(a_i), sigmoid(b_i)
//   scores [m]      (1/m) Σ_i (a_i - b_i)², or the mean over [m, k]
//
// Logits of -inf on both sides are columns left out, without gradient; on one side only they make
// the divergence infinite. Divergences are computed in double precision and returned in the type of
// the first argument: near outputs differ by less than a float's rounding of p log p.
#pragma once

#include <torch/types.h>

namespace simile {

// What a model says of a batch: logits of classes or of the rows of an in-batch softmax, or one
// score for each text or pair. Float or double, on any device.
struct SmoothOutput {
  torch::Tensor values;
  bool is_logits = true;
};

// One number, not negative and zero for equal outputs; gradients flow to both sides. Errors
// (kInput): sides of different kinds or shapes, none of any rows, logits that are not [m, k].
torch::Tensor smoothness_distance(const SmoothOutput& a, const SmoothOutput& b);

// KL(p‖q) of each row, [m], for logits only; gradients flow to both sides. Errors: as above.
torch::Tensor row_divergences(const SmoothOutput& a, const SmoothOutput& b);

// The same numbers as a constant.
SmoothOutput detached(const SmoothOutput& output);

}  // namespace simile
