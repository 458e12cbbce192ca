// SPDX-License-Identifier: Apache-2.0
#include "simile/core/float_buffer.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <new>
#include <string>

#include "simile/core/error.h"

namespace simile {
namespace {

constexpr size_t kLine = 64, kHugePage = size_t{2} << 20;  // bytes

}  // namespace

float* FloatBuffer::reserve(int64_t size) {
  if (size <= size_) return data_;
  release();
  const size_t bytes = (static_cast<size_t>(size) * sizeof(float) + kLine - 1) / kLine * kLine;
  alignment_ = bytes >= 2 * kHugePage ? kHugePage : kLine;
  data_ = static_cast<float*>(::operator new (bytes, std::align_val_t{alignment_}, std::nothrow));
  SIMILE_CHECK(data_ != nullptr, ErrorKind::kFailed,
               "no memory for " + std::to_string(bytes) + " bytes; use smaller batches");
  size_ = size;
#ifdef MADV_HUGEPAGE
  // Rows of wide matrices lie on a page each: large pages spare most of the address look-ups.
  if (alignment_ == kHugePage) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  return data_;
}

void FloatBuffer::release() {
  ::operator delete (data_, std::align_val_t{alignment_});
  data_ = nullptr;
  size_ = 0;
}

}  // namespace simile
