// SPDX-License-Identifier: Apache-2.0
// The inner loops of the optimisers on spans of floats, and a sum of squares for gradient clipping.
//
// One step on n weights w with gradient g, all as PyTorch writes them. Each begins with
//   g' = gradient_scale g + l2 w
// All arrays [n], none overlapping. Numbers depend on their own place only. Single-threaded.
#pragma once

#include <cstdint>

#include "simile/kernel/vector_kernels.h"

namespace simile {

struct SgdUpdate {
  float learning_rate = 0.0f;
  float momentum = 0.0f;
  float l2 = 0.0f;
  float gradient_scale = 1.0f;
};

// Adam (Kingma & Ba 2015, algorithm 1), and with `decay` instead of `l2` AdamW (Loshchilov & Hutter
// 2019, algorithm 2), moments m, v:
//   w <- (1 - learning_rate decay) w
//   m <- beta1 m + (1 - beta1) g',  v <- beta2 v + (1 - beta2) g'^2
//   w <- w - learning_rate (m / first_correction) / (sqrt(v / second_correction) + eps)
void adam_update(const AdamUpdate& update, int64_t n, float* weight, float* first, float* second,
                 const float* gradient);

// Adamax (Kingma & Ba 2015, algorithm 2), with u the largest gradient, fading:
//   m <- beta1 m + (1 - beta1) g',  u <- max(beta2 u, |g'| + eps)
//   w <- w - (learning_rate / first_correction) m / u
// `decay` and second_correction have no part in it.
void adamax_update(const AdamUpdate& update, int64_t n, float* weight, float* first, float* largest,
                   const float* gradient);

// Stochastic gradient descent with momentum (Polyak 1964):
//   b <- momentum b + g',  w <- w - learning_rate b
void sgd_update(const SgdUpdate& update, int64_t n, float* weight, float* velocity,
                const float* gradient);

// sum x[i]^2 in double precision. Added up in blocks of fixed size in their order: the same bits
// for any number of threads. Uses simile::thread_count() threads for long spans.
double sum_of_squares(const float* x, int64_t n);

}  // namespace simile
