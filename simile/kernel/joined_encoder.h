// SPDX-License-Identifier: Apache-2.0
// A joined encoder: the vectors that several encoders, its parts, give a text, side by side.
//
//   h = [w_1 u_1 | w_2 u_2 | ...],  u_i = v_i / |v_i|
//
// v_i being part i's pooled states (pooling.h), or its one state where it averages by itself, and
// w_i its weight. So the cosine of two texts is the mean of their parts' cosines, weighted by the
// squares of the w_i. A v_i of zeros stays, and the others decide alone.
//
// All parts read the same tokens; one with a shorter limit than the text sees the text's beginning
// (EncoderPart::longest). A static part meets the special tokens that others need: their rows in
// its table are zeros, which changes the length of a mean but not u_i.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

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
