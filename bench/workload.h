// SPDX-License-Identifier: Apache-2.0
// The token sequences that both Simile and the peer work on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/kernel/encoder_parameters.h"

namespace simile::bench {

// Sequences of token ids, special tokens included.
using Workload = std::vector<std::vector<int32_t>>;

// Reads len_NAME.txt (one length a line) and ids_NAME.bin (int32, all sequences behind each other)
// of `folder`. Errors (kInput): a file that is missing, a length below 1, files that do not fit.
Workload read_workload(const std::string& folder, const std::string& name);

// Sequences begin .. begin + count, counted around the end as the peer does: batch `index` of
// `size` begins at (index * size) mod (n - size + 1).
Workload take_batch(const Workload& workload, int64_t index, int64_t size);

// Floating-point operations of a forward pass over the sequences, without padding, a multiplication
// and an addition counting as two: per layer 2 L (4 H^2 + 2 H I) + 4 L^2 H. A training step counts
// three times that.
double forward_operations(const EncoderShape& shape, const Workload& sequences);

}  // namespace simile::bench
