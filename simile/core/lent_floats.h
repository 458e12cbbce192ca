// SPDX-License-Identifier: Apache-2.0
// Memory for floats that comes from work done before: large buffers that are needed again and again
// for a while, such as once in each step of training, without asking the system for pages each
// time.
//
// The process keeps a few buffers that were given back. Any thread may take and give back.
#pragma once

#include <cstdint>

#include "simile/core/float_buffer.h"

namespace simile {

class LentFloats {
 public:
  // Room for `size` floats, of no particular values, aligned as FloatBuffer. Errors: kFailed
  // without memory.
  explicit LentFloats(int64_t size);
  LentFloats(LentFloats&&) noexcept = default;
  LentFloats& operator=(LentFloats&& other) noexcept;
  ~LentFloats();  // gives it back

  float* data() { return buffer_.data(); }
  const float* data() const { return buffer_.data(); }

 private:
  FloatBuffer buffer_;
};

}  // namespace simile
