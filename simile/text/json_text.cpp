// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace simile::detail {

std::string quote_json(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
  });
  return plain ? fmt::format("\"{}\"", text) : dump_json(Json(text), -1);
}

Json special_token_entry(std::string_view content, int64_t id) {
  return {{"id", id},
          {"content", content},
          {"single_word", false},
          {"lstrip", content == "<mask>" || content == "[MASK]"},
          {"rstrip", false},
          {"normalized", false},
          {"special", true}};
}

Json sequence_of(const char* name, std::vector<Json> steps) {
  if (steps.empty()) return nullptr;
  if (steps.size() == 1) return std::move(steps.front());
  return {{"type", "Sequence"}, {name, std::move(steps)}};
}

}  // namespace simile::detail
