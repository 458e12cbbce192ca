// SPDX-License-Identifier: Apache-2.0
// From the hidden states of a packed batch to one vector per sequence.
//
// With h_1 ... h_n the hidden states of a sequence, special tokens included, the modes are those of
// pooling_modes() (simile/model/model_settings.h); several are concatenated. Where
// the first p tokens are left out (a prompt's), the others keep their place t as weight, cls takes
// the first that is left and n counts those that are left. A sequence without tokens left gives
// zeros. Sums run over tokens in order, so a vector depends on its own tokens alone.
//
// No modes at all is the pooling of an encoder that gives one state a sequence by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder_parameters.h"

namespace simile {

// hidden [tokens, H], offsets [B + 1] (encoder.h) -> pooled [B, modes * H], without the first
// `left_out` tokens of each sequence.
void pool_states(const std::vector<PoolingMode>& modes, const float* hidden,
                 const std::vector<int32_t>& offsets, int64_t H, float* pooled,
                 int64_t left_out = 0);

// Divides each row of [B, D] by its L2 norm. A row of zeros stays as it is, and so does a row whose
// length is 1 within rounding: a second call changes no bit.
void normalise_rows(float* rows, int64_t B, int64_t D);

}  // namespace simile
