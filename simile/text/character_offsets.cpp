// SPDX-License-Identifier: Apache-2.0
#include "simile/text/tokenizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

// For each byte of `text`, and its end, how many characters begin before it.
std::vector<uint32_t> count_characters_before(std::string_view text) {
  std::vector<uint32_t> counts;
  counts.reserve(text.size() + 1);
  uint32_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const uint32_t size = decode_character(text, i).size;
    counts.push_back(count++);
    counts.insert(counts.end(), size - 1, count);
    i += size;
  }
  counts.push_back(count);
  return counts;
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> character_offsets(const Encoding& encoding,
                                                             std::string_view first,
                                                             std::string_view second) {
  const std::vector<uint32_t> in_first = count_characters_before(first);
  const std::vector<uint32_t> in_second = count_characters_before(second);
  std::vector<std::pair<uint32_t, uint32_t>> offsets;
  offsets.reserve(encoding.offsets.size());
  for (size_t i = 0; i < encoding.offsets.size(); ++i) {
    const std::vector<uint32_t>& counts = encoding.from_second[i] ? in_second : in_first;
    const auto [begin, end] = encoding.offsets[i];
    offsets.emplace_back(counts.at(begin), counts.at(end));
  }
  return offsets;
}

}  // namespace simile
