// SPDX-License-Identifier: Apache-2.0
// A loop of independent tasks, run by all threads.
#pragma once

#include <cstdint>
#include <exception>

namespace simile::detail {

// Runs work(i) for each i below `count`, in any order. An error does not leave the parallel region:
// that of the smallest i is thrown afterwards.
template <typename Work>
void run_tasks(int64_t count, const Work& work) {
  std::exception_ptr error;
  int64_t error_at = count;
#pragma omp parallel for schedule(dynamic, 1) if (count > 1)
  for (int64_t i = 0; i < count; ++i) {
    try {
      work(i);
    } catch (...) {
#pragma omp critical(simile_index_error)
      if (i < error_at) {
        error_at = i;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace simile::detail
