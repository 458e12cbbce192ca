// SPDX-License-Identifier: Apache-2.0
#include "simile/text/post_processor.h"

#include <algorithm>

namespace simile {

int64_t count_special_tokens(const std::vector<TemplatePiece>& pieces) {
  return std::count_if(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) {
    return piece.kind == TemplatePiece::Kind::kSpecial;
  });
}

PairLengths truncate_longest_first(int64_t first, int64_t second, int64_t limit) {
  if (first + second <= limit) return {first, second};
  const bool swapped = first > second;
  int64_t shorter = std::min(first, second);
  int64_t longer = shorter > limit ? shorter : std::max(shorter, limit - shorter);
  if (shorter + longer > limit) {
    shorter = limit / 2;
    longer = shorter + limit % 2;
  }
  return swapped ? PairLengths{longer, shorter} : PairLengths{shorter, longer};
}

}  // namespace simile
