// SPDX-License-Identifier: Apache-2.0
#include "simile/core/memory.h"

#ifdef __linux__
#include <sys/mman.h>
#endif
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "simile/core/check.h"

namespace simile {
namespace {

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

// The number behind `name` in a file of "name number" lines; -1 without one.
int64_t read_entry(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string key;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    int64_t value = 0;
    if (words >> key >> value && key == name) return value;
  }
  return -1;
}

// The number a file holds; -1 where it holds none ("max") or is not there.
int64_t read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value ? value : -1;
}

// Memory left under a group's limit; its cached file pages count as free.
int64_t group_memory(const std::string& folder, const char* limit_name, const char* used_name,
                     const char* cache_name) {
  const int64_t limit = read_number(folder + limit_name), used = read_number(folder + used_name);
  if (limit < 0 || used < 0) return kUnknown;
  const int64_t cache = std::max<int64_t>(0, read_entry(folder + "memory.stat", cache_name));
  return std::max<int64_t>(0, limit - used + cache);
}

// The least memory left in the group of /proc/self/cgroup or, inside containers, in the root.
int64_t smallest_group_memory() {
  int64_t least = kUnknown;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    for (const std::string& group : {line.substr(second + 1) + "/", std::string("/")}) {
      if (controllers.empty()) {
        least = std::min(
            least, group_memory("/sys/fs/cgroup" + group, "memory.max", "memory.current", "file"));
      } else if (controllers == "memory") {
        least =
            std::min(least, group_memory("/sys/fs/cgroup/memory" + group, "memory.limit_in_bytes",
                                         "memory.usage_in_bytes", "total_cache"));
      }
    }
  }
  return least;
}

constexpr size_t kLine = 64, kHugePage = size_t{2} << 20;  // bytes
constexpr size_t kLarge = size_t{64} << 20;  // bytes worth asking whether they are there

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

int64_t available_memory() {
  constexpr const char* kPath = "/proc/meminfo";
  const int64_t free = read_entry(kPath, "MemAvailable:");
  int64_t least = smallest_group_memory();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const int64_t used = 1024 * std::max<int64_t>(0, read_entry("/proc/self/status", "VmSize:"));
    const auto most = static_cast<int64_t>(limit.rlim_cur);
    least = std::min(least, std::max<int64_t>(0, most - used));
  }
  if (free < 0) return least;
  return std::min(least, 1024 * (free + std::max<int64_t>(0, read_entry(kPath, "SwapFree:"))));
}

void prefer_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kPage = 4096;  // or a multiple, where the system refuses
  const size_t before = (kPage - reinterpret_cast<uintptr_t>(data) % kPage) % kPage;
  if (bytes >= before + kPage) {
    madvise(static_cast<char*>(data) + before, (bytes - before) / kPage * kPage, MADV_HUGEPAGE);
  }
#endif
}

float* FloatBuffer::reserve(int64_t size) {
  if (size <= size_) return data_;
  release();
  const size_t bytes = (static_cast<size_t>(size) * sizeof(float) + kLine - 1) / kLine * kLine;
  alignment_ = bytes >= 2 * kHugePage ? kHugePage : kLine;
  // Systems hand out memory that they do not have and kill the process that uses it.
  if (bytes < kLarge || bytes <= static_cast<uint64_t>(available_memory())) {
    data_ = static_cast<float*>(::operator new (bytes, std::align_val_t{alignment_}, std::nothrow));
  }
  SIMILE_CHECK(data_ != nullptr, ErrorKind::kFailed,
               "{} MB of memory are needed at once, {} MB are free; use smaller batches (in "
               "training batch_size, chunk_tokens or max_length, else --batch-tokens)",
               bytes >> 20, available_memory() >> 20);
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

LentFloats::LentFloats(int64_t size) : buffer_(shelf().take(size)) { buffer_.reserve(size); }

LentFloats& LentFloats::operator=(LentFloats&& other) noexcept {
  std::swap(buffer_, other.buffer_);
  return *this;
}

LentFloats::~LentFloats() { shelf().give_back(std::move(buffer_)); }

}  // namespace simile
