// SPDX-License-Identifier: Apache-2.0
// The sum of word, position and type embedding of each token.
#pragma once

#include "simile/core/half.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

// The word embedding of `id`; a row of halves is put in `row` [H] first.
inline const float* word_row(const EncoderWeights& weights, int64_t H, int64_t id, float* row) {
  if (weights.half_word == nullptr) return weights.word + id * H;
  halves_to_floats(weights.half_word + id * H, H, row);
  return row;
}

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
      float* const row = sum + (s.row - chunk.row + j) * H;
      vector_kernels().add_rows(H, word_row(weights, H, batch.ids[token], row),
                                weights.position + j * H,
                                shape.types > 0 ? weights.type + type * H : nullptr, row);
    }
  }
}

}  // namespace simile
