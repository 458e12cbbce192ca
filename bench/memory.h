// SPDX-License-Identifier: Apache-2.0
// The memory that this process holds, as Linux counts it (/proc/self/status), in bytes.
#pragma once

#include <cstdint>

namespace simile::bench {

int64_t resident_memory();
int64_t peak_memory();  // the most that was resident since the start, or reset_peak_memory()

// Errors (kIo): the system does not let it.
void reset_peak_memory();

}  // namespace simile::bench
