// SPDX-License-Identifier: Apache-2.0
// A batch of token sequences as one run of tokens with offsets: never a padded rectangle.
#pragma once

#include <cstdint>
#include <vector>

namespace simile {

struct PackedBatch {
  std::vector<int32_t> ids;       // [tokens]
  std::vector<int32_t> type_ids;  // [tokens], 0 or 1; empty means all 0
  std::vector<int32_t> offsets;   // [size + 1]; sequence i is tokens offsets[i] .. offsets[i+1]

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int64_t size() const { return offsets.empty() ? 0 : static_cast<int64_t>(offsets.size()) - 1; }
};

}  // namespace simile
