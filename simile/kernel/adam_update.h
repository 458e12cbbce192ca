// SPDX-License-Identifier: Apache-2.0
// The inner loop of AdamW on spans of floats, and a sum of squares for gradient clipping.
#pragma once

#include <cstdint>

namespace simile {

struct AdamUpdate {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float decay = 0.01f;             // decoupled weight decay
  float first_correction = 1.0f;   // 1 - beta1^step, or 1 without bias correction
  float second_correction = 1.0f;  // 1 - beta2^step, or 1 without
  float gradient_scale = 1.0f;     // factor on the gradient, for clipping and accumulation
};

// One step of AdamW (Loshchilov & Hutter 2019, algorithm 2, as PyTorch writes it) on n weights w
// with moments m, v and gradient g:
//   g' = gradient_scale g,  w <- (1 - learning_rate decay) w
//   m <- beta1 m + (1 - beta1) g',  v <- beta2 v + (1 - beta2) g'^2
//   w <- w - learning_rate (m / first_correction) / (sqrt(v / second_correction) + eps)
// All arrays [n], none overlapping. Each number depends on its own place only, so a span may be cut
// anywhere. Single-threaded.
void adam_update(const AdamUpdate& update, int64_t n, float* weight, float* first, float* second,
                 const float* gradient);

// sum x[i]^2 in double precision. Added up in blocks of fixed size in their order: the same bits
// for any number of threads. Uses simile::thread_count() threads for long spans.
double sum_of_squares(const float* x, int64_t n);

}  // namespace simile
