// SPDX-License-Identifier: Apache-2.0
// Static encoders: a vector for each token, whatever its context. The one hidden state of a
// sequence t_0 ... t_n-1 is the mean of its tokens' rows of a table E [V, H],
//
//   h = sum_k E[t_k] / n
//
// and zero for a sequence without tokens (sentence-transformers' StaticEmbedding, which is torch's
// EmbeddingBag; Model2Vec, Tulkens & van Dongen, 2024). Rows are summed in the order of the tokens,
// in float. A row of zeros adds nothing but its share, which normalising takes out; training leaves
// it zero.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

// The rows [V, H] in one of three forms, the others being null: floats, halves, which become floats
// exactly as they are used, or bytes with a scale [V] for each row (quantise_rows()).
struct StaticTable {
  const float* floats = nullptr;
  const uint16_t* halves = nullptr;
  const int8_t* bytes = nullptr;
  const float* scales = nullptr;
};

// Threads share the sequences; one call uses all of thread_count() where there are enough.
class StaticEncoder final : public Encoder {
 public:
  // The table must outlive this object and not change. This reads hidden, vocabulary and positions
  // from `shape` (averaged).
  StaticEncoder(const EncoderShape& shape, const StaticTable& table)
      : shape_(shape), table_(table) {}

  int64_t hidden_size() const override { return shape_.hidden; }
  int64_t vocabulary() const override { return shape_.vocabulary; }
  int64_t longest_sequence() const override { return shape_.longest_sequence(); }
  int64_t states(const PackedBatch& batch) const override { return batch.size(); }

  void operator()(const PackedBatch& batch, float* hidden) const override;

 private:
  void average(const PackedBatch& batch, int64_t sequence, float* hidden) const;

  EncoderShape shape_;
  StaticTable table_;
};

// Which rows [V] of a table have a number that is not zero.
std::vector<uint8_t> trained_rows(const float* table, int64_t rows, int64_t columns);

// The gradient of the rows: adds hidden_gradient[i] / n_i to gradient[t_k] for each token k of
// sequence i, of n_i tokens, whose row is `trained` [V], in the order of the tokens.
// hidden_gradient [sequences, columns], gradient [V, columns]. The batch must fit. Threads share
// the rows: the bits do not depend on how many there are.
void add_row_gradients(const PackedBatch& batch, const float* hidden_gradient, int64_t columns,
                       const std::vector<uint8_t>& trained, float* gradient);

}  // namespace simile
