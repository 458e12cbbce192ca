// SPDX-License-Identifier: Apache-2.0
// Tokenised texts kept once, and packed batches made from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simile/kernel/packed.h"

namespace simile {

// The token ids of many texts, one after the other.
struct TokenizedTexts {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets = {0};  // [texts + 1]

  int64_t size() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t length(int64_t text) const {
    return offsets[static_cast<size_t>(text) + 1] - offsets[static_cast<size_t>(text)];
  }
  void add(const std::vector<int32_t>& tokens);
};

// Appends texts `which` of `texts` to `batch`, in order.
void pack_texts(const TokenizedTexts& texts, const std::vector<int32_t>& which, PackedBatch& batch);

}  // namespace simile
