// SPDX-License-Identifier: Apache-2.0
#include "simile/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "simile/core/error.h"

namespace simile {
namespace {

// A hash of short texts.
uint64_t hash_word(std::string_view word) {
  uint64_t hash = word.size() * 0x9E3779B97F4A7C15ULL;
  const char* bytes = word.data();
  size_t left = word.size();
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0xD6E8FEB86659FD93ULL;
    hash ^= hash >> 32;
  };
  for (; left >= 8; left -= 8, bytes += 8) {
    uint64_t value;
    std::memcpy(&value, bytes, 8);
    mix(value);
  }
  if (left >= 4) {
    uint32_t low;
    uint32_t high;
    std::memcpy(&low, bytes, 4);
    std::memcpy(&high, bytes + left - 4, 4);
    mix(low | static_cast<uint64_t>(high) << 32);
  } else if (left > 0) {
    const auto byte = [&](size_t i) {
      return static_cast<uint64_t>(static_cast<uint8_t>(bytes[i]));
    };
    mix(byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16);
  }
  return hash;
}

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

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
  slots_.assign(slot_count, {});
  arena_.reserve(bytes);
  begins_.reserve(by_id.size() + 1);
  for (size_t id = 0; id < by_id.size(); ++id) {
    if (by_id[id] != nullptr) {
      const std::string& token = *by_id[id];
      const uint64_t hash = hash_word(token);
      Slot& slot = slots_[slot_of(token, hash)];
      const int32_t known = slot.id;
      SIMILE_CHECK(known < 0 || repeats == Repeats::kLastWins, ErrorKind::kInput,
                   fmt::format("{}: token \"{}\" occurs twice, with ids {} and {}", source, token,
                               known, id));
      repeats_ |= known >= 0;
      arena_ += token;
      slot = {tag_of(hash), static_cast<int32_t>(id)};
    }
    begins_.push_back(static_cast<uint32_t>(arena_.size()));
  }
}

size_t Vocabulary::slot_of(std::string_view name, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].id >= 0 &&
         (slots_[slot].tag != tag_of(hash) || token(slots_[slot].id) != name)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

int32_t Vocabulary::find(std::string_view name) const {
  return slots_.empty() ? -1 : slots_[slot_of(name, hash_word(name))].id;
}

}  // namespace simile
