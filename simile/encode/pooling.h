// SPDX-License-Identifier: Apache-2.0
// The pooling of a model's settings (simile/kernel/pooling.h).
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/pooling.h"
#include "simile/model/model_settings.h"

namespace simile {

inline void pool(const Pooling& pooling, const float* hidden, const std::vector<int32_t>& offsets,
                 int64_t H, float* pooled, int64_t left_out = 0) {
  pool_states(pooling.modes, hidden, offsets, H, pooled, left_out);
}

}  // namespace simile
