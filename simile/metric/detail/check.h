// SPDX-License-Identifier: Apache-2.0
// Checks that the metrics share. Errors are ErrorKind::kInput.
#pragma once

#include <cstddef>
#include <vector>

namespace simile {

// Both lists must have the same length.
void check_same_length(const char* metric, size_t left, size_t right);
// Every value must be finite; otherwise names the first position that is not.
void check_finite(const char* metric, const std::vector<double>& values);

}  // namespace simile
