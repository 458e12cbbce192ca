// SPDX-License-Identifier: Apache-2.0
// Packed batches made from texts that were tokenised once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simile/kernel/packed.h"

namespace simile {

// Sequences `which` of `texts` (token ids), in order. `second` says for each of `texts` at which
// token its second text begins, from where type ids are 1; empty: all are 0.
PackedBatch pack_texts(const std::vector<std::vector<int32_t>>& texts,
                       const std::vector<int32_t>& second, const std::vector<int32_t>& which);

}  // namespace simile
