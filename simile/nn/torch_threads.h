// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace simile {

// Keeps thread_count() (simile/core/threads.h) on this thread: ATen's first parallel work on a
// thread would set another. To be called before it.
void keep_thread_count();

}  // namespace simile
