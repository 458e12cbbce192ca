// SPDX-License-Identifier: Apache-2.0
// Memory: how much is left, so that a request beyond it ends with a message and not with a kill,
// how it is mapped, and buffers of floats that are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace simile {

// Bytes that this process may still take: memory that the system has free or can free, within its
// control group's limit. The largest number if the system does not report it.
int64_t available_memory();

// Asks for large pages for memory that is read at random: they save most address look-ups. Nothing
// happens where the system has none.
void prefer_large_pages(void* data, size_t bytes);

// Reusable memory for floats: grows when more is needed, never shrinks, and is not initialised.
// Aligned to a cache line (64 bytes) at least.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  FloatBuffer(FloatBuffer&& other) noexcept { swap(other); }
  FloatBuffer& operator=(FloatBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~FloatBuffer() { release(); }

  // Room for `size` floats; growing loses the content. Errors: kFailed without enough memory.
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
// for a while, such as once in each step of training, without asking the system for pages each
// time. The process keeps a few buffers that were given back. Any thread may take and give back.
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
