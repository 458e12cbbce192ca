// SPDX-License-Identifier: Apache-2.0
// The sum of word, position and type embedding of each token.
#pragma once

#include <cstring>

#include "simile/core/half.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/kernel/detail/position_tables.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {

// The word embedding [E] of `id`; a row of halves is put in `row` [E] first.
inline const float* word_row(const EncoderWeights& weights, int64_t E, int64_t id, float* row) {
  if (weights.half_word == nullptr) return weights.word + id * E;
  halves_to_floats(weights.half_word + id * E, E, row);
  return row;
}

// sum [chunk.rows, E], in the order of the plan.
inline void embed_chunk(const EncoderShape& shape, const EncoderWeights& weights,
                        const PackedBatch& batch, const BatchPlan& plan, const PlannedChunk& chunk,
                        float* sum) {
  const int64_t E = shape.embedding_size();
  for (int64_t i = chunk.first_sequence; i < chunk.end_sequence; ++i) {
    const PlannedSequence& s = plan.sequences[i];
    PositionRows position_row(shape.position_offset);
    for (int64_t j = 0; j < s.length; ++j) {
      const int64_t token = s.token + j;
      const int64_t type = batch.type_ids.empty() ? 0 : batch.type_ids[token];
      float* const row = sum + (s.row - chunk.row + j) * E;
      const float* const word = word_row(weights, E, batch.ids[token], row);
      const float* const of_type = weights.type ? weights.type + type * E : nullptr;
      if (weights.position) {
        const float* const place = weights.position + position_row(batch.ids[token]) * E;
        vector_kernels().add_rows(E, word, place, of_type, row);
      } else if (of_type) {
        vector_kernels().add_rows(E, word, of_type, nullptr, row);
      } else if (word != row) {
        std::memcpy(row, word, static_cast<size_t>(E) * sizeof(float));
      }
    }
  }
}

}  // namespace simile
