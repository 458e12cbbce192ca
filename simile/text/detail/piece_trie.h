// SPDX-License-Identifier: Apache-2.0
// A trie over the bytes of a vocabulary's tokens, for finding all tokens that a text begins with.
//
// A double array: the child of a unit by byte b stands at unit.base ^ b, and is there if the place
// is marked with b (Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure",
// IEEE TSE 1989; addressing by exclusive or). 8 bytes a unit, about one unit a node. Immutable once
// built, safe to use from several threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace simile::detail {

class PieceTrie {
 public:
  struct Unit {
    uint32_t base = 0;  // of the children; 0, where no child is, for none
    uint32_t mark = 0;  // low bits: byte + 1 of the way here, 0 for free; the rest: token + 1
  };
  static constexpr uint32_t kLabelBits = 9;
  static constexpr uint32_t kLabelMask = (1U << kLabelBits) - 1;
  // The most tokens, and (exclusive) the largest number of one, that a unit can hold.
  static constexpr int64_t kMaxPieces = (int64_t{1} << 23) - 1;

  PieceTrie() = default;
  // Each token with its number. Empty tokens are left out; no token may occur twice.
  explicit PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces);

  // A place in the trie; starts at the root.
  class Cursor {
   public:
    explicit Cursor(const PieceTrie& trie) : units_(trie.units_.data()), unit_(units_[0]) {}
    // Goes down by one byte; false, and then of no more use, where no token continues so.
    bool descend(char c) {
      const uint32_t byte = static_cast<uint8_t>(c);
      unit_ = units_[unit_.base ^ byte];
      return (unit_.mark & kLabelMask) == byte + 1;
    }
    // The token that ends here; -1 for none.
    int32_t piece() const { return static_cast<int32_t>(unit_.mark >> kLabelBits) - 1; }

   private:
    const Unit* units_;
    Unit unit_;
  };

 private:
  std::vector<Unit> units_;  // a multiple of 256; 0 is the root, and the only one of the first 256
};

}  // namespace simile::detail
