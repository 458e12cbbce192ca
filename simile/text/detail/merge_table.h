// SPDX-License-Identifier: Apache-2.0
// What byte-pair encoding looks up: merges by pair of tokens, and tokens by text.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace simile::detail {

// A token in a word, and how many of its bytes it stands for.
struct MergeSymbol {
  int32_t id = 0;
  uint32_t size = 0;
};

struct Merge {
  uint32_t rank = std::numeric_limits<uint32_t>::max();  // the largest: no merge
  int32_t id = -1;
  bool exists() const { return id >= 0; }
};

class MergeTable {
 public:
  void reserve(size_t merges);
  // A pair that is there already gets the new merge.
  void insert(int32_t left, int32_t right, Merge merge);

  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t slot = slot_of(key); slots_[slot].merge.exists(); slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key) return slots_[slot].merge;
    }
    return {};
  }

  // Joins the symbols of a word until no merge is left.
  void apply(std::vector<MergeSymbol>& symbols) const;

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key ^ (key >> 29)) * 0x9E3779B97F4A7C15ULL >> shift_);
  }
  void apply_short(std::vector<MergeSymbol>& symbols) const;
  void apply_long(std::vector<MergeSymbol>& symbols) const;

  std::vector<Slot> slots_ = std::vector<Slot>(2);  // open addressing, a power of two
  size_t mask_ = 1;
  int shift_ = 63;
};

// A hash of short texts.
inline uint64_t hash_word(std::string_view word) {
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

// Texts with the number of the token each belongs to.
class WordTable {
 public:
  void insert(std::string_view word, int32_t id);
  // Call once, after the last insert().
  void build();

  int32_t find(std::string_view word) const {
    const uint64_t hash = hash_word(word);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t slot = hash & mask_; slots_[slot].entry >= 0; slot = (slot + 1) & mask_) {
      if (slots_[slot].tag != tag) continue;
      const Entry& entry = entries_[static_cast<size_t>(slots_[slot].entry)];
      if (entry.size == word.size() &&
          std::memcmp(arena_.data() + entry.begin, word.data(), word.size()) == 0) {
        return entry.id;
      }
    }
    return -1;
  }

 private:
  struct Entry {
    uint64_t begin;
    uint32_t size;
    int32_t id;
  };
  struct Slot {
    uint32_t tag = 0;
    int32_t entry = -1;
  };

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_ = std::vector<Slot>(2);  // open addressing, a power of two
  size_t mask_ = 1;
};

}  // namespace simile::detail
