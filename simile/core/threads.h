// SPDX-License-Identifier: Apache-2.0
// The number of threads that every module computes with, set in one place.
#pragma once

namespace simile {

// Threads used by parallel work; defaults to the processors this process may run on.
int thread_count();

// Sets it (at least 1) for OpenMP and all that stands on it. Call before work starts, from one
// thread.
void set_thread_count(int count);

}  // namespace simile
