// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "simile/core/error.h"

namespace simile {
namespace {

size_t hash_of(std::string_view token) { return std::hash<std::string_view>()(token); }

}  // namespace

Vocabulary::Vocabulary(std::vector<std::pair<std::string, int64_t>> entries, int64_t id_bound,
                       const std::string& source) {
  int64_t size = 0;
  size_t bytes = 0;
  for (const auto& [token, id] : entries) {
    SIMILE_CHECK(id >= 0 && id < id_bound, ErrorKind::kInput,
                 fmt::format("{}: token \"{}\" has id {}, but ids must number the tokens from 0 to "
                             "{} without gaps",
                             source, token, id, id_bound - 1));
    size = std::max(size, id + 1);
    bytes += token.size();
  }
  SIMILE_CHECK(bytes < std::numeric_limits<uint32_t>::max(), ErrorKind::kInput,
               fmt::format("{}: the vocabulary is {} bytes long, more than 4 GiB", source, bytes));
  std::vector<const std::string*> by_id(static_cast<size_t>(size), nullptr);
  for (const auto& [token, id] : entries) {
    SIMILE_CHECK(
        by_id[id] == nullptr, ErrorKind::kInput,
        fmt::format("{}: tokens \"{}\" and \"{}\" both have id {}", source, *by_id[id], token, id));
    by_id[id] = &token;
  }
  size_t slot_count = 16;
  while (slot_count < entries.size() * 2) slot_count *= 2;
  slots_.assign(slot_count, -1);
  arena_.reserve(bytes);
  begins_.reserve(by_id.size() + 1);
  for (size_t id = 0; id < by_id.size(); ++id) {
    if (by_id[id] != nullptr) {
      const std::string& token = *by_id[id];
      SIMILE_CHECK(find(token) < 0, ErrorKind::kInput,
                   fmt::format("{}: token \"{}\" occurs twice, with ids {} and {}", source, token,
                               find(token), id));
      arena_ += token;
      size_t slot = hash_of(token) & (slot_count - 1);
      while (slots_[slot] >= 0) slot = (slot + 1) & (slot_count - 1);
      slots_[slot] = static_cast<int32_t>(id);
    }
    begins_.push_back(static_cast<uint32_t>(arena_.size()));
  }
}

int32_t Vocabulary::find(std::string_view name) const {
  if (slots_.empty()) return -1;
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash_of(name) & mask; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    if (token(slots_[slot]) == name) return slots_[slot];
  }
  return -1;
}

}  // namespace simile
