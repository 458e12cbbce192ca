// SPDX-License-Identifier: Apache-2.0
// Packed hidden states to one vector per sequence, differentiable.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "simile/checkpoint/model_settings.h"

namespace simile {

// `hidden` [tokens, H] and `offsets` [B + 1] to embeddings [B, H]: the mean or the maximum over a
// sequence's tokens, or its first token. An empty sequence gives zeros. Not normalised.
torch::Tensor pool_tokens(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                          PoolingMode mode);

}  // namespace simile
