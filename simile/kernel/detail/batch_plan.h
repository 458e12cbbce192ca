// SPDX-License-Identifier: Apache-2.0
// How a batch is cut for work in parallel: chunks of whole sequences whose cost is as even as it
// gets. In the encoder, tokens are in the plan's order (chunk by chunk); `token` leads back.
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
// the model's positions, ids or type ids outside their tables, heads that do not divide H.
void check_batch(const EncoderShape& shape, const PackedBatch& batch);

// Where each sequence's attention dropout bits begin in a layer's, and their sum: a function of the
// batch's order alone, so that the bits do not depend on the plan. [size + 1]
std::vector<int64_t> attention_mask_offsets(const EncoderShape& shape, const PackedBatch& batch);

// About `chunk_tokens` tokens a chunk; from `multiple` chunks on, their number is a multiple of it.
BatchPlan plan_batch(const EncoderShape& shape, const PackedBatch& batch, int64_t chunk_tokens,
                     int64_t multiple);

// The effect of positions on attention, as tables for sequences of up to some length.
//
// Rotary positions: token p of a sequence turns pair j of a head of size d by the angle
// p * base^(-2j / d) (Su et al. 2021), both rounded to single precision as the models were trained.
// Relative positions: score (i, j) of head h is shifted by relative[bucket(j - i), h], buckets as
// in Raffel et al. 2020, section 2.1, for both directions: half of them for j > i; of each half,
// one for each distance below half its buckets, the rest on a logarithmic scale up to distance 128.
// Rows of `relative` beyond the 32nd are never used, as in MPNet's own code.

// The bucket of a key `distance` tokens behind the query; `buckets` is even and at least 4.
int64_t relative_bucket(int64_t distance, int64_t buckets);

// How many buckets the distances of a shape with relative positions fall into.
int64_t bucket_count(const EncoderShape& shape);

class PositionTables {
 public:
  // Tables for sequences of at most `longest` tokens; replaces their content.
  void build(const EncoderShape& shape, const EncoderWeights& weights, int64_t longest);

  // [longest, head_size / 2]; null without rotary positions.
  const float* cosines(bool local) const { return rotary(local).cosines(); }
  const float* sines(bool local) const { return rotary(local).sines(); }

  // As AttentionCall::shift; null without relative positions.
  const float* shift() const { return shift_.empty() ? nullptr : shift_.data() + longest_; }
  int64_t ld_shift() const { return ld_shift_; }
  int64_t shift_floats() const { return static_cast<int64_t>(shift_.size()); }
  int64_t shift_origin() const { return longest_; }  // floats before shift()

  // Adds what `d_shift` (as shift(), from its first float) holds to the gradient of `relative`.
  void add_shift_gradient(const EncoderShape& shape, const float* d_shift, float* relative) const;

 private:
  struct Rotary {
    std::vector<float> numbers;  // all cosines, then all sines
    const float* cosines() const { return numbers.empty() ? nullptr : numbers.data(); }
    const float* sines() const {
      return numbers.empty() ? nullptr : numbers.data() + numbers.size() / 2;
    }
    void build(double base, int64_t head_size, int64_t longest);
  };
  const Rotary& rotary(bool local) const { return local ? local_ : global_; }

  Rotary global_, local_;
  std::vector<float> shift_;
  int64_t longest_ = 0, ld_shift_ = 0;
};

// Turns query and key of a sequence's rows of qkv [length, 3H], or back, by rotary positions.
void rotate_sequence(const EncoderShape& shape, const PositionTables& tables, bool local,
                     int64_t length, float* qkv, bool backward = false);

// Which rows of the position table the tokens of a sequence take: position_offset, the next and so
// on. With an offset, the token whose number is one below it is the padding: inside a text it takes
// the row of its own number and does not count (RoBERTa and MPNet in transformers).
class PositionRows {
 public:
  explicit PositionRows(int64_t position_offset)
      : padding_(position_offset - 1), next_(position_offset) {}

  // The position of the token that follows in the sequence.
  int64_t operator()(int32_t id) { return id == padding_ ? padding_ : next_++; }

 private:
  int64_t padding_, next_;
};

}  // namespace simile
