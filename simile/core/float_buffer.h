// SPDX-License-Identifier: Apache-2.0
// Memory for floats that is kept and reused: grows when more is asked for, never shrinks, holds no
// particular values. Aligned to a cache line (64 bytes) at least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace simile {

class FloatBuffer {
 public:
  FloatBuffer() = default;
  FloatBuffer(FloatBuffer&& other) noexcept { swap(other); }
  FloatBuffer& operator=(FloatBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~FloatBuffer() { release(); }

  // Room for `size` floats; what was in it is lost when it grows. Errors: kFailed where that much
  // memory is not free.
  float* reserve(int64_t size);

  float* data() { return data_; }
  const float* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  void release();
  void swap(FloatBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(alignment_, other.alignment_);
  }

  float* data_ = nullptr;
  int64_t size_ = 0;
  size_t alignment_ = 64;  // bytes
};

}  // namespace simile
