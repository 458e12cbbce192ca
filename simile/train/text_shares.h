// SPDX-License-Identifier: Apache-2.0
// The share of a batch's texts that each of several processes encodes. Who encodes a text decides
// nothing: its dropout masks are those that it has in the whole batch.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/train/gradient_cache.h"

namespace simile {

// Bounds [ranks + 1]: rank r has the texts which[bounds[r]] .. which[bounds[r + 1] - 1], about as
// many tokens as any other; shares may be empty.
std::vector<int64_t> cut_shares(const std::vector<std::vector<int32_t>>& texts,
                                const std::vector<int32_t>& which, int64_t ranks);

// Of cut_chunks() of the whole batch the share begin .. end - 1, none where it is empty.
std::vector<BatchChunk> cut_share(const std::vector<std::vector<int32_t>>& texts,
                                  const std::vector<int32_t>& second,
                                  const std::vector<int32_t>& which, int64_t begin, int64_t end,
                                  int64_t tokens, const EncoderShape& shape,
                                  const EncoderDropout& dropout);

}  // namespace simile
