// SPDX-License-Identifier: Apache-2.0
#include "simile/core/lent_floats.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace simile {
namespace {

constexpr size_t kKept = 16;       // buffers
constexpr int64_t kMostSpare = 2;  // a buffer is not lent for less than this part of it

class Shelf {
 public:
  // The smallest that fits; an empty one where there is none.
  FloatBuffer take(int64_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto best = buffers_.end();
    for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
      if (it->size() < size || it->size() > kMostSpare * size) continue;
      if (best == buffers_.end() || it->size() < best->size()) best = it;
    }
    if (best == buffers_.end()) return {};
    FloatBuffer taken = std::move(*best);
    buffers_.erase(best);
    return taken;
  }

  // The one that has lain here longest goes when there are too many.
  void give_back(FloatBuffer buffer) {
    if (buffer.size() == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (buffers_.size() == kKept) buffers_.erase(buffers_.begin());
    buffers_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<FloatBuffer> buffers_;
};

// Never destroyed: buffers may come back while the program ends.
Shelf& shelf() {
  static Shelf& only = *new Shelf;
  return only;
}

}  // namespace

LentFloats::LentFloats(int64_t size) : buffer_(shelf().take(size)) { buffer_.reserve(size); }

LentFloats& LentFloats::operator=(LentFloats&& other) noexcept {
  std::swap(buffer_, other.buffer_);
  return *this;
}

LentFloats::~LentFloats() { shelf().give_back(std::move(buffer_)); }

}  // namespace simile
