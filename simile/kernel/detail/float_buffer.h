// SPDX-License-Identifier: Apache-2.0
// Memory for floats that is kept and reused: grows when more is asked for, never shrinks, holds no
// particular values. Aligned to 64 bytes at least.
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdint>
#include <new>
#include <string>

#include "simile/core/error.h"

namespace simile {

class FloatBuffer {
 public:
  FloatBuffer() = default;
  FloatBuffer(const FloatBuffer&) = delete;
  FloatBuffer& operator=(const FloatBuffer&) = delete;
  ~FloatBuffer() { release(); }

  // Room for `size` floats; what was in it is lost when it grows. Errors: kFailed without memory.
  float* reserve(int64_t size) {
    if (size > size_) {
      release();
      const size_t bytes = (static_cast<size_t>(size) * sizeof(float) + 63) / 64 * 64;
      alignment_ = bytes >= 2 * kHugePage ? kHugePage : 64;
      data_ =
          static_cast<float*>(::operator new (bytes, std::align_val_t{alignment_}, std::nothrow));
      SIMILE_CHECK(data_ != nullptr, ErrorKind::kFailed,
                   "no memory for " + std::to_string(bytes) +
                       " bytes of encoder activations; use smaller batches");
      size_ = size;
#ifdef MADV_HUGEPAGE
      // Rows of wide matrices lie on a page each: large pages spare most of the address look-ups.
      if (alignment_ == kHugePage) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    }
    return data_;
  }
  float* data() { return data_; }
  const float* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;  // bytes

  void release() {
    ::operator delete (data_, std::align_val_t{alignment_});
    data_ = nullptr;
    size_ = 0;
  }

  float* data_ = nullptr;
  int64_t size_ = 0;
  size_t alignment_ = 64;  // bytes
};

}  // namespace simile
