// SPDX-License-Identifier: Apache-2.0
// Packed hidden states to one vector per sequence, differentiable.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "simile/model/model_settings.h"

namespace simile {

// `hidden` [tokens, H] and `offsets` [B + 1] to embeddings [B, modes * H], as
// simile/encode/pooling.h computes them with all tokens counted. An empty sequence gives zeros. Not
// normalised. Without modes `hidden` has a row a sequence already, which is returned.
torch::Tensor pool_tokens(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                          const Pooling& pooling);

}  // namespace simile
