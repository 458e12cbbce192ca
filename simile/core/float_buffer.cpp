// SPDX-License-Identifier: Apache-2.0
#include "simile/core/float_buffer.h"

#include <fmt/format.h>

#include <new>

#include "simile/core/error.h"
#include "simile/core/memory.h"

namespace simile {
namespace {

constexpr size_t kLine = 64, kHugePage = size_t{2} << 20;  // bytes
constexpr size_t kLarge = size_t{64} << 20;  // bytes worth asking whether they are there

// Systems hand out memory that they do not have and kill who uses it.
bool is_there(size_t bytes) {
  return bytes < kLarge || bytes <= static_cast<uint64_t>(available_memory());
}

}  // namespace

float* FloatBuffer::reserve(int64_t size) {
  if (size <= size_) return data_;
  release();
  const size_t bytes = (static_cast<size_t>(size) * sizeof(float) + kLine - 1) / kLine * kLine;
  alignment_ = bytes >= 2 * kHugePage ? kHugePage : kLine;
  if (is_there(bytes)) {
    data_ = static_cast<float*>(::operator new (bytes, std::align_val_t{alignment_}, std::nothrow));
  }
  SIMILE_CHECK(
      data_ != nullptr, ErrorKind::kFailed,
      fmt::format("{} MB of memory are needed at once, {} MB are free; use smaller batches "
                  "(in training batch_size, chunk_tokens or max_length, else "
                  "--batch-tokens)",
                  bytes >> 20, available_memory() >> 20));
  size_ = size;
  // Rows of wide matrices lie on a page each.
  if (alignment_ == kHugePage) prefer_large_pages(data_, bytes);
  return data_;
}

void FloatBuffer::release() {
  ::operator delete (data_, std::align_val_t{alignment_});
  data_ = nullptr;
  size_ = 0;
}

}  // namespace simile
