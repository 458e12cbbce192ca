// SPDX-License-Identifier: Apache-2.0
#include "simile/core/parallel.h"

#include <omp.h>

namespace simile {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) { omp_set_num_threads(std::max(1, count)); }

}  // namespace simile
