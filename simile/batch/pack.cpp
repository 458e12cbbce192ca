// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/pack.h"

namespace simile {

void pack_texts(const std::vector<std::vector<int32_t>>& texts, const std::vector<int32_t>& which,
                PackedBatch& batch) {
  if (batch.offsets.empty()) batch.offsets.push_back(0);
  for (const int32_t text : which) {
    const std::vector<int32_t>& ids = texts[static_cast<size_t>(text)];
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
}

}  // namespace simile
