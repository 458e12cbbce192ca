// SPDX-License-Identifier: Apache-2.0
// Memory: how much is left, so that a request beyond it ends with a message and not with a kill, how
// it is mapped, and buffers of floats that are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace simile {

// Bytes that this process may still take: what the system has free or can free, and no more than
// its control group's limit leaves. The largest number where the system does not tell.
int64_t available_memory();

// Asks for large pages under what is read here and there in this memory: they spare most of the
// look-ups of addresses. Nothing happens where the system has none.
void prefer_large_pages(void* data, size_t bytes);

// Memory for floats that is kept and reused: grows when more is asked for, never shrinks, holds no
// particular values. Aligned to a cache line (64 bytes) at least.
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

// Memory for floats that comes from work done before: large buffers that are needed again and again
// for a while, such as once in each step of training, without asking the system for pages each time.
// The process keeps a few buffers that were given back. Any thread may take and give back.
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
