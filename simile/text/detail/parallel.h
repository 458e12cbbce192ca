// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

namespace simile::detail {

// Runs work(i) for each i below `count` on all threads. Errors do not leave the parallel region:
// that of the smallest i is thrown afterwards.
template <typename Work>
void run_parallel(size_t count, const Work& work) {
  const auto size = static_cast<int64_t>(count);
  std::exception_ptr error;
  int64_t error_at = size;
#pragma omp parallel for schedule(dynamic, 16) if (count > 16)
  for (int64_t i = 0; i < size; ++i) {
    try {
      work(static_cast<size_t>(i));
    } catch (...) {
#pragma omp critical(simile_text_error)
      if (i < error_at) {
        error_at = i;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace simile::detail
