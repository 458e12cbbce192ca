// SPDX-License-Identifier: Apache-2.0
// Compares vectors with those of plain ATen calls before a speed is reported.
#pragma once

#include <string>

#include "bench/workload.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/kernel/matrix_product.h"

namespace simile::bench {

// Largest difference between `encoder`'s vectors of the sequences and those of plain ATen calls in
// fp32 with the weights in `folder`. Errors (kFailed): it is above 1e-5, in bf16 1e-2, in int8
// 5e-2.
double check_vectors(const SentenceEncoder& encoder, const std::string& folder,
                     ProductType products, const Workload& sequences);

}  // namespace simile::bench
