// SPDX-License-Identifier: Apache-2.0
#include "simile/core/memory.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

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

int64_t system_memory() {
  constexpr const char* kPath = "/proc/meminfo";
  const int64_t free = read_entry(kPath, "MemAvailable:");
  if (free < 0) return kUnknown;
  return 1024 * (free + std::max<int64_t>(0, read_entry(kPath, "SwapFree:")));
}

// What a group's limit leaves; its cached file pages can be freed.
int64_t group_memory(const std::string& folder, const char* limit_name, const char* used_name,
                     const char* cache_name) {
  const int64_t limit = read_number(folder + limit_name), used = read_number(folder + used_name);
  if (limit < 0 || used < 0) return kUnknown;
  const int64_t cache = std::max<int64_t>(0, read_entry(folder + "memory.stat", cache_name));
  return std::max<int64_t>(0, limit - used + cache);
}

// Of the group named in /proc/self/cgroup, or, as containers see it, of the root.
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

}  // namespace

int64_t available_memory() { return std::min(system_memory(), smallest_group_memory()); }

void prefer_large_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kPage = 4096;  // or a multiple, where the system refuses
  const size_t before = (kPage - reinterpret_cast<uintptr_t>(data) % kPage) % kPage;
  if (bytes >= before + kPage) {
    madvise(static_cast<char*>(data) + before, (bytes - before) / kPage * kPage, MADV_HUGEPAGE);
  }
#endif
}

}  // namespace simile
