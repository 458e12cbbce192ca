// SPDX-License-Identifier: Apache-2.0
// The merges of byte-pair encoding, looked up by pair of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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

}  // namespace simile::detail
