// SPDX-License-Identifier: Apache-2.0
// Writes a normalised text character by character, keeping account of which characters of the input
// each stands for as the `tokenizers` library does, so that offsets agree with it.
#pragma once

#include <algorithm>
#include <string_view>

#include "simile/text/normalized_text.h"
#include "simile/text/unicode.h"

namespace simile::detail {

class AlignedWriter {
 public:
  // Both texts must outlive the writer; `out` is emptied.
  AlignedWriter(const NormalizedText& in, NormalizedText& out) : in_(in), out_(out) {
    out.clear(in.tracked);
    out.text.reserve(in.text.size() + 16);
    if (in.tracked) out.origins.reserve(in.text.size() + 16);
  }

  // Leaves out the next `count` characters of the input.
  void skip(size_t count) {
    if (!in_.tracked) return;
    for (; count > 0 && at_ < in_.text.size(); --count) at_ += character_size();
  }

  // Writes `c`. change <= 0: in place of the next 1 - change characters of the input, with the
  // origin of the first of them; change > 0: beside them, with the origin of the input's last
  // character taken so far.
  void put(char32_t c, int change) {
    Span origin;
    if (in_.tracked) {
      if (change > 0) {
        origin = last_origin();
      } else {
        origin = at_ < in_.text.size() ? in_.origins[at_] : last_origin();
        skip(static_cast<size_t>(1 - change));
      }
    }
    out_.append(c, origin);
  }

  // Writes the next `size` bytes of the input, which are whole characters, unchanged. `begin` is
  // where they stand; only for writers that take every character in turn.
  void copy(size_t begin, size_t size) {
    out_.append(std::string_view(in_.text).substr(begin, size),
                in_.tracked ? in_.origins.data() + begin : nullptr);
    at_ = begin + size;
  }

 private:
  size_t character_size() const { return decode_valid_character(in_.text, at_).size; }

  Span last_origin() const {
    if (at_ > 0) return in_.origins[at_ - 1];
    const uint32_t begin = in_.origins.empty() ? 0 : in_.origins.front().begin;
    return {begin, begin};
  }

  const NormalizedText& in_;
  NormalizedText& out_;
  size_t at_ = 0;  // bytes of the input taken; kept only when origins are
};

}  // namespace simile::detail
