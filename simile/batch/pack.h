// SPDX-License-Identifier: Apache-2.0
// Packed batches made from texts that were tokenised once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simile/kernel/packed.h"

namespace simile {

// Appends sequences `which` of `texts` (token ids) to `batch`, in order.
void pack_texts(const std::vector<std::vector<int32_t>>& texts, const std::vector<int32_t>& which,
                PackedBatch& batch);

}  // namespace simile
