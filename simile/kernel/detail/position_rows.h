// SPDX-License-Identifier: Apache-2.0
// Which rows of the position table the tokens of a sequence take: position_offset, the next and so
// on. With an offset, the token whose number is one below it is the padding: where it stands in a
// text, it takes the row of its own number and does not count (RoBERTa and MPNet in transformers).
#pragma once

#include <cstdint>

namespace simile {

class PositionRows {
 public:
  explicit PositionRows(int64_t position_offset)
      : padding_(position_offset - 1), next_(position_offset) {}

  // Of the token that follows in the sequence.
  int64_t operator()(int32_t id) { return id == padding_ ? padding_ : next_++; }

 private:
  int64_t padding_, next_;
};

}  // namespace simile
