// SPDX-License-Identifier: Apache-2.0
#include "bench/memory.h"

#include <fstream>
#include <string>

#include "simile/core/check.h"

namespace simile::bench {
namespace {

int64_t read_status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == name + ":" && status >> kilobytes) return 1024 * kilobytes;
  }
  throw Error(ErrorKind::kIo, "/proc/self/status has no " + name);
}

}  // namespace

int64_t resident_memory() { return read_status("VmRSS"); }

int64_t peak_memory() { return read_status("VmHWM"); }

void reset_peak_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  SIMILE_CHECK(file.good(), ErrorKind::kIo, "/proc/self/clear_refs cannot be written");
}

}  // namespace simile::bench
