// SPDX-License-Identifier: Apache-2.0
// From the hidden states of a packed batch to one vector per sequence.
//
//   cls:  h_0            mean: (1/n) sum_t h_t            max: max_t h_t, per dimension
//
// over the n tokens of a sequence, special tokens included. A sequence without tokens gives zeros.
// Sums run over tokens in order, so a vector depends on its own tokens alone.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/checkpoint/model_settings.h"

namespace simile {

// hidden [tokens, H], offsets [B + 1] (packed.h) -> pooled [B, H].
void pool(PoolingMode mode, const float* hidden, const std::vector<int32_t>& offsets, int64_t H,
          float* pooled);

// Divides each row of [B, D] by its L2 norm; a row of zeros stays.
void normalise_rows(float* rows, int64_t B, int64_t D);

}  // namespace simile
