// SPDX-License-Identifier: Apache-2.0
// The number of threads that every module computes with, and loops of independent pieces of work on
// all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>

namespace simile {

// Threads used by parallel work; defaults to the processors this process may run on.
int thread_count();

// Sets it (at least 1) for OpenMP and everything built on it. Call before work starts, from one
// thread.
void set_thread_count(int count);

// Runs work(i) for each i below `count`, in any order; a thread takes `together` numbers at a time.
// Not worth threads: `together` or fewer. Inside another such loop all runs on the thread that
// calls. Errors do not leave a parallel region: all other pieces are still done, then the error of
// the lowest number is thrown again.
template <typename Work>
void run_parallel(int64_t count, int64_t together, const Work& work) {
  std::exception_ptr error;
  int64_t error_at = count;
#pragma omp parallel for schedule(dynamic, together) if (count > together)
  for (int64_t i = 0; i < count; ++i) {
    try {
      work(i);
    } catch (...) {
#pragma omp critical(simile_parallel_error)
      if (i < error_at) {
        error_at = i;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

// Runs work(begin, end) for each block of at most `block` numbers below `count`.
template <typename Work>
void run_parallel_blocks(int64_t count, int64_t block, const Work& work) {
  run_parallel((count + block - 1) / block, 1,
               [&](int64_t i) { work(i * block, std::min((i + 1) * block, count)); });
}

}  // namespace simile
