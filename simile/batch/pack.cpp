// SPDX-License-Identifier: Apache-2.0
#include "simile/batch/pack.h"

namespace simile {

void TokenizedTexts::add(const std::vector<int32_t>& tokens) {
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  offsets.push_back(static_cast<int64_t>(ids.size()));
}

void pack_texts(const TokenizedTexts& texts, const std::vector<int32_t>& which, PackedBatch& batch) {
  if (batch.offsets.empty()) batch.offsets.push_back(0);
  for (const int32_t text : which) {
    const auto begin = texts.ids.begin() + texts.offsets[static_cast<size_t>(text)];
    batch.ids.insert(batch.ids.end(), begin, begin + texts.length(text));
    batch.offsets.push_back(static_cast<int32_t>(batch.ids.size()));
  }
}

}  // namespace simile
