// SPDX-License-Identifier: Apache-2.0
// How much memory is left, so that a request beyond it ends with a message and not with a kill.
#pragma once

#include <cstdint>

namespace simile {

// Bytes that this process may still take: what the system has free or can free, and no more than
// its control group's limit leaves. The largest number where the system does not tell.
int64_t available_memory();

}  // namespace simile
