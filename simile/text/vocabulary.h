// SPDX-License-Identifier: Apache-2.0
// Tokens numbered from 0, found by text or by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simile {

class Vocabulary {
 public:
  Vocabulary() = default;
  // Each token with its id. Ids may leave gaps, which are empty tokens that find() does not know.
  // Errors (kInput, naming `source`): a negative id, one beyond `id_bound`, an id or a token that
  // occurs twice. With kLastWins a token may occur again: find() gives its largest id, and the
  // others keep their text.
  enum class Repeats { kRefused, kLastWins };
  Vocabulary(std::vector<std::pair<std::string, int64_t>> entries, int64_t id_bound,
             const std::string& source, Repeats repeats = Repeats::kRefused);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int64_t size() const { return static_cast<int64_t>(begins_.size()) - 1; }  // largest id + 1
  int32_t find(std::string_view token) const;                                // -1 when unknown
  bool repeats() const { return repeats_; }  // whether a token occurs more than once
  // The token numbered `id`, which must be in [0, size()).
  std::string_view token(int32_t id) const {
    return std::string_view(arena_).substr(begins_[id], begins_[id + 1] - begins_[id]);
  }

 private:
  struct Slot {
    uint32_t tag = 0;  // half of the token's hash
    int32_t id = -1;   // -1: free
  };

  size_t slot_of(std::string_view token, uint64_t hash) const;  // where it is, or would be

  std::string arena_;                   // all tokens, one after the other
  std::vector<uint32_t> begins_ = {0};  // [size + 1]
  std::vector<Slot> slots_;             // open addressing, a power of two
  bool repeats_ = false;
};

}  // namespace simile
