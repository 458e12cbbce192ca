// SPDX-License-Identifier: Apache-2.0
// The sum of word, position and type embedding of each token.
#pragma once

#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

// sum [chunk.rows, H], in the order of the plan.
inline void embed_chunk(const EncoderShape& shape, const EncoderWeights& weights,
                        const PackedBatch& batch, const BatchPlan& plan, const PlannedChunk& chunk,
                        float* sum) {
  const int64_t H = shape.hidden;
  for (int64_t i = chunk.first_sequence; i < chunk.end_sequence; ++i) {
    const PlannedSequence& s = plan.sequences[i];
    for (int64_t j = 0; j < s.length; ++j) {
      const int64_t token = s.token + j;
      const int64_t type = batch.type_ids.empty() ? 0 : batch.type_ids[token];
      vector_kernels().add_rows(H, weights.word + batch.ids[token] * H, weights.position + j * H,
                                shape.types > 0 ? weights.type + type * H : nullptr,
                                sum + (s.row - chunk.row + j) * H);
    }
  }
}

}  // namespace simile
