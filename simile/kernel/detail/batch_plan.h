// SPDX-License-Identifier: Apache-2.0
// How a batch is cut for work in parallel: chunks of whole sequences whose cost is as even as it
// gets. Inside the encoder tokens stand in the order of the plan (chunk by chunk); `token` leads
// back.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

struct PlannedSequence {
  int64_t index;   // in the batch
  int64_t length;  // tokens
  int64_t token;   // first token in the batch
  int64_t row;     // first row in the order of the plan
  int64_t mask;    // first byte of its attention dropout bits in a layer's
};

struct PlannedChunk {
  int64_t first_sequence, end_sequence;  // in sequences
  int64_t row, rows;
};

struct BatchPlan {
  std::vector<PlannedSequence> sequences;
  std::vector<PlannedChunk> chunks;  // the most expensive first
  int64_t rows = 0;
  int64_t longest = 0;        // tokens of the longest sequence
  int64_t largest_chunk = 0;  // rows
};

// Errors: kInput for offsets that do not rise from 0 to the number of tokens, sequences longer than
// the model's positions, ids or type ids outside their tables, heads that do not divide the hidden
// size.
void check_batch(const EncoderShape& shape, const PackedBatch& batch);

// Where each sequence's attention dropout bits begin in a layer's, and their sum: a function of the
// batch's order alone, so that the bits do not depend on the plan. [size + 1]
std::vector<int64_t> attention_mask_offsets(const EncoderShape& shape, const PackedBatch& batch);

// About `chunk_tokens` tokens a chunk; from `multiple` chunks on, their number is a multiple of it.
// A function of its arguments alone.
BatchPlan plan_batch(const EncoderShape& shape, const PackedBatch& batch, int64_t chunk_tokens,
                     int64_t multiple);

}  // namespace simile
