// SPDX-License-Identifier: Apache-2.0
// A loop over blocks of [0, count), run by all threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>

namespace simile {

// Calls body(begin, end) for every block of at most `block` numbers, in any order and at once. The
// first exception is thrown again after the loop.
template <typename Body>
void run_parallel_blocks(int64_t count, int64_t block, const Body& body) {
  std::exception_ptr error;
  const int64_t blocks = (count + block - 1) / block;
#pragma omp parallel for schedule(dynamic)
  for (int64_t i = 0; i < blocks; ++i) {
    try {
      body(i * block, std::min(i * block + block, count));
    } catch (...) {
#pragma omp critical(simile_parallel_blocks)
      if (error == nullptr) error = std::current_exception();
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace simile
