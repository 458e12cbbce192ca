// SPDX-License-Identifier: Apache-2.0
// How much memory is left, so that a request beyond it ends with a message and not with a kill, and
// how it is mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simile {

// Bytes that this process may still take: what the system has free or can free, and no more than
// its control group's limit leaves. The largest number where the system does not tell.
int64_t available_memory();

// Asks for large pages under what is read here and there in this memory: they spare most of the
// look-ups of addresses. Nothing happens where the system has none.
void prefer_large_pages(void* data, size_t bytes);

}  // namespace simile
