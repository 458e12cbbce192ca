// SPDX-License-Identifier: Apache-2.0
#include "simile/text/detail/piece_trie.h"

#include <algorithm>
#include <array>

namespace simile::detail {
namespace {

constexpr uint32_t kBlock = 256;
// Blocks that are searched for free places. Older ones keep their last gaps.
constexpr uint32_t kOpenBlocks = 16;

struct Piece {
  uint64_t start;  // the first eight bytes, big end first, for fast comparison
  std::string_view text;
  int32_t id;
  bool operator<(const Piece& other) const {
    return start != other.start ? start < other.start : text < other.text;
  }
};

// Hands out places for the children of nodes.
class Places {
 public:
  // A base such that base ^ byte is free for each of `bytes`, which is then taken.
  uint32_t take(const std::vector<uint8_t>& bytes) {
    for (uint32_t place = first_free_; place != kEnd; place = next_[place]) {
      const uint32_t base = place ^ bytes[0];
      const auto is_free = [&](uint8_t byte) { return next_[base ^ byte] != kTaken; };
      if (used_base_[base] || !std::all_of(bytes.begin(), bytes.end(), is_free)) continue;
      return occupy(base, bytes);
    }
    return occupy(add_block() ^ bytes[0], bytes);
  }
  uint32_t size() const { return static_cast<uint32_t>(next_.size()); }

 private:
  static constexpr uint32_t kEnd = 0xFFFFFFFF;
  static constexpr uint32_t kTaken = 0xFFFFFFFE;

  uint32_t occupy(uint32_t base, const std::vector<uint8_t>& bytes) {
    used_base_[base] = true;
    for (const uint8_t byte : bytes) unlink(base ^ byte);
    return base;
  }

  void unlink(uint32_t place) {
    const uint32_t before = before_[place];
    const uint32_t after = next_[place];
    (before == kEnd ? first_free_ : next_[before]) = after;
    (after == kEnd ? last_free_ : before_[after]) = before;
    next_[place] = kTaken;
  }

  // Returns the first place of a new block of free places.
  uint32_t add_block() {
    const uint32_t begin = size();
    for (uint32_t i = 0; begin / kBlock >= kOpenBlocks && i < kBlock; ++i) {  // closes the oldest
      const uint32_t place = begin - kOpenBlocks * kBlock + i;
      if (next_[place] != kTaken) unlink(place);
    }
    next_.resize(begin + kBlock);
    before_.resize(begin + kBlock);
    used_base_.resize(begin + kBlock, false);
    for (uint32_t place = begin; place < begin + kBlock; ++place) {
      before_[place] = last_free_;
      next_[place] = kEnd;
      (last_free_ == kEnd ? first_free_ : next_[last_free_]) = place;
      last_free_ = place;
    }
    return begin;
  }

  // Free places as a list in both directions. The first block stays empty: base 0 means none.
  std::vector<uint32_t> next_ = std::vector<uint32_t>(kBlock, kTaken);
  std::vector<uint32_t> before_ = std::vector<uint32_t>(kBlock, kEnd);
  std::vector<bool> used_base_ = std::vector<bool>(kBlock, true);
  uint32_t first_free_ = kEnd;
  uint32_t last_free_ = kEnd;
};

// The sorted pieces [begin, end), which share their first `depth` bytes and the unit these lead to.
struct Range {
  size_t begin, end, depth;
  uint32_t unit;
};

}  // namespace

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, int32_t>> pieces) {
  std::vector<Piece> sorted;
  sorted.reserve(pieces.size());
  for (const auto& [text, id] : pieces) {
    uint64_t start = 0;
    for (size_t i = 0; i < 8; ++i) {
      start = start << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
    }
    if (!text.empty()) sorted.push_back({start, text, id});
  }
  std::sort(sorted.begin(), sorted.end());
  Places places;
  std::vector<Unit> units(places.size());
  std::vector<Range> open = {{0, sorted.size(), 0, 0}};
  std::vector<uint8_t> bytes;
  std::vector<size_t> begins;
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    bytes.clear();
    begins.clear();
    for (size_t i = range.begin; i < range.end; ++i) {
      const std::string_view text = sorted[i].text;
      if (text.size() == range.depth) {
        units[range.unit].mark |= static_cast<uint32_t>(sorted[i].id + 1) << kLabelBits;
        continue;
      }
      const auto byte = static_cast<uint8_t>(text[range.depth]);
      if (!bytes.empty() && bytes.back() == byte) continue;
      bytes.push_back(byte);
      begins.push_back(i);
    }
    if (bytes.empty()) continue;
    const uint32_t base = places.take(bytes);
    units.resize(places.size());
    units[range.unit].base = base;
    begins.push_back(range.end);
    for (size_t k = bytes.size(); k-- > 0;) {
      const uint32_t child = base ^ bytes[k];
      units[child].mark = bytes[k] + 1U;
      open.push_back({begins[k], begins[k + 1], range.depth + 1, child});
    }
  }
  units.shrink_to_fit();
  units_ = std::move(units);
}

}  // namespace simile::detail
