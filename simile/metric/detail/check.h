// SPDX-License-Identifier: Apache-2.0
// Checks that the metrics share. Errors are ErrorKind::kInput.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "simile/core/error.h"

namespace simile {

// Both lists must have the same length.
inline void check_same_length(const char* metric, size_t left, size_t right) {
  SIMILE_CHECK(left == right, ErrorKind::kInput,
               fmt::format("{}: expected two lists of the same length, found {} and {} values",
                           metric, left, right));
}

// Every value must be finite; otherwise names the first position that is not.
inline void check_finite(const char* metric, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    SIMILE_CHECK(
        std::isfinite(values[i]), ErrorKind::kInput,
        fmt::format("{}: expected finite numbers, found {} at position {}", metric, values[i], i));
  }
}

}  // namespace simile
