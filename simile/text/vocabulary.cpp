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
                       const std::string& source, Repeats repeats) {
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
      const size_t slot = slot_of(token);
      const int32_t known = slots_[slot];
      SIMILE_CHECK(known < 0 || repeats == Repeats::kLastWins, ErrorKind::kInput,
                   fmt::format("{}: token \"{}\" occurs twice, with ids {} and {}", source, token,
                               known, id));
      repeats_ |= known >= 0;
      arena_ += token;
      slots_[slot] = static_cast<int32_t>(id);
    }
    begins_.push_back(static_cast<uint32_t>(arena_.size()));
  }
}

size_t Vocabulary::slot_of(std::string_view name) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash_of(name) & mask;
  while (slots_[slot] >= 0 && token(slots_[slot]) != name) slot = (slot + 1) & mask;
  return slot;
}

int32_t Vocabulary::find(std::string_view name) const {
  return slots_.empty() ? -1 : slots_[slot_of(name)];
}

}  // namespace simile
