// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/torch_threads.h"

#include <ATen/Parallel.h>

#include "simile/core/threads.h"

namespace simile {

// ATen's default is OMP_NUM_THREADS, or all processors, or half of them, by platform and build.
// at::set_num_threads() would do too, but starts a pool for mobile kernels, whose threads spin for
// some 20 ms each.
void keep_thread_count() {
  const int threads = thread_count();
  at::get_num_threads();
  set_thread_count(threads);
  if (at::get_num_threads() != threads) at::set_num_threads(threads);  // ATen without OpenMP
}

}  // namespace simile
