// SPDX-License-Identifier: Apache-2.0
#include "simile/text/post_processor.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"

namespace simile {

int64_t count_special_tokens(const std::vector<TemplatePiece>& pieces) {
  return std::count_if(pieces.begin(), pieces.end(), [](const TemplatePiece& piece) {
    return piece.kind == TemplatePiece::Kind::kSpecial;
  });
}

std::vector<TemplatePiece> remove_special_tokens(const std::vector<TemplatePiece>& pieces) {
  std::vector<TemplatePiece> texts;
  for (const TemplatePiece& piece : pieces) {
    if (piece.kind != TemplatePiece::Kind::kSpecial) texts.push_back(piece);
  }
  return texts;
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

PairLengths truncate(int64_t first, int64_t second, bool pair, int64_t limit,
                     const TruncationSettings& settings) {
  using Strategy = TruncationSettings::Strategy;
  const int64_t excess = first + second - limit;
  if (excess <= 0) return {first, second};
  if (settings.strategy == Strategy::kLongestFirst) {
    if (!pair) return {limit, 0};
    return truncate_longest_first(first, second, limit);
  }
  const bool cut_first = settings.strategy == Strategy::kOnlyFirst;
  SIMILE_CHECK(
      cut_first || pair, ErrorKind::kInput,
      "truncation \"only_second\" needs a pair of texts, but there is one text that is too "
      "long; use \"longest_first\" or \"only_first\"");
  int64_t& length = cut_first ? first : second;
  SIMILE_CHECK(length > excess, ErrorKind::kInput,
               fmt::format("truncation \"{}\": {} tokens must go, but that text has only {}; use "
                           "\"longest_first\" or a larger maximum length",
                           cut_first ? "only_first" : "only_second", excess, length));
  length -= excess;
  return {first, second};
}

}  // namespace simile
