// SPDX-License-Identifier: Apache-2.0
// Encoders that give a vector a sequence by themselves: static ones, and joined ones.
//
// Static: a vector for each token, whatever stands around it. The one hidden state of a sequence
// t_0 ... t_n-1 is the mean of its tokens' rows of a table E [V, H],
//
//   h = sum_k w_k E[t_k] / sum_k w_k
//
// and zero for a sequence without tokens. The weights w are 1 (sentence-transformers'
// StaticEmbedding, which is torch's EmbeddingBag; Model2Vec, Tulkens & van Dongen, 2024) or those
// of TokenWeights (pooling.h). Rows are summed in the order of the tokens, in float. A row of zeros
// adds nothing but its weight, which normalising takes out again. In training it is a token left
// out: it gets no gradient and stays zero.
//
// Joined: the vectors that several encoders, its parts, give a text, side by side,
//
//   h = [w_1 u_1 | w_2 u_2 | ...],  u_i = v_i / |v_i|
//
// v_i being part i's pooled states (pooling.h), or its one state where it averages by itself, and
// w_i its weight. So the cosine of two texts is the mean of their parts' cosines, weighted by the
// squares of the w_i. A v_i of zeros stays, and the others decide alone. All parts read the same
// tokens; one with a shorter limit than the text sees the text's beginning (EncoderPart::longest).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/pooling.h"

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
  // The table must outlive this and stay as it is. Of `shape` (averaged) count hidden, vocabulary,
  // positions and what TokenWeights names.
  StaticEncoder(const EncoderShape& shape, const StaticTable& table);

  int64_t hidden_size() const override { return shape_.hidden; }
  int64_t vocabulary() const override { return shape_.vocabulary; }
  int64_t longest_sequence() const override { return shape_.longest_sequence(); }
  int64_t states(const PackedBatch& batch) const override { return batch.size(); }

  void operator()(const PackedBatch& batch, float* hidden) const override;

 private:
  void average(const PackedBatch& batch, int64_t sequence, float* hidden) const;

  EncoderShape shape_;
  StaticTable table_;
  TokenWeights weights_;
};

// Which rows [V] of a table have a number that is not zero.
std::vector<uint8_t> trained_rows(const float* table, int64_t rows, int64_t columns);

// The gradient of the rows: adds shares[k] * hidden_gradient[i] to gradient[t_k] for each token k
// of sequence i whose row is `trained` [V], in the order of the tokens. `shares` [tokens] as
// TokenWeights::of_batch() gives them, hidden_gradient [sequences, columns], gradient [V, columns].
// The batch must fit. Threads share the rows: the bits do not depend on how many there are.
void add_row_gradients(const PackedBatch& batch, const std::vector<float>& shares,
                       const float* hidden_gradient, int64_t columns,
                       const std::vector<uint8_t>& trained, float* gradient);

// hidden is the sum of the parts' sizes, vocabulary the least of theirs, positions the most tokens
// that one of them sees.
EncoderShape joined_shape(std::vector<EncoderPart> parts);

// Where the weights of each part begin in the flat array of encoder_layout(), and the size of all
// [parts + 1].
std::vector<int64_t> part_offsets(const EncoderShape& shape);

// The numbers of the tokens that a part sees of a batch, in their order.
std::vector<int32_t> part_tokens(const EncoderPart& part, const PackedBatch& batch);

// The batch as a part sees it.
PackedBatch part_batch(const EncoderPart& part, const PackedBatch& batch);

// The parts whose tokens' embeddings a perturbation shifts (simile/loss/siar.h): those with
// attention, whose embeddings LayerNorm has made alike in size; all where none has any.
std::vector<size_t> perturbed_parts(const EncoderShape& shape);

// Numbers in the perturbation of a token, for any encoder: H, or the sum of those parts' H.
int64_t perturbed_size(const EncoderShape& shape);

// The bits of part i's columns are w_i times those of its own normalised vector. Parts are encoded
// one after the other, each with all threads; memory beside the result: the states of one part.
class JoinedEncoder final : public Encoder {
 public:
  // `shape` is that of the encoders, in their order.
  JoinedEncoder(const EncoderShape& shape, std::vector<std::shared_ptr<const Encoder>> parts);

  int64_t hidden_size() const override { return shape_.hidden; }
  int64_t vocabulary() const override { return shape_.vocabulary; }
  int64_t longest_sequence() const override { return shape_.longest_sequence(); }
  int64_t states(const PackedBatch& batch) const override { return batch.size(); }

  void operator()(const PackedBatch& batch, float* hidden) const override;

 private:
  EncoderShape shape_;
  std::vector<std::shared_ptr<const Encoder>> parts_;
};

}  // namespace simile
