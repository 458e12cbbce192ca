// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/pack.h"

namespace simile {

PackedBatch pack_texts(const std::vector<std::vector<int32_t>>& texts,
                       const std::vector<int32_t>& second, const std::vector<int32_t>& which) {
  PackedBatch batch;
  batch.offsets.push_back(0);
  for (const int32_t number : which) {
    const auto text = static_cast<size_t>(number);
    const std::vector<int32_t>& ids = texts[text];
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
    if (second.empty()) continue;
    batch.type_ids.resize(batch.type_ids.size() + static_cast<size_t>(second[text]), 0);
    batch.type_ids.resize(batch.ids.size(), 1);
  }
  return batch;
}

}  // namespace simile
