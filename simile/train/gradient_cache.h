// SPDX-License-Identifier: Apache-2.0
// Gradient caching: a batch larger than memory, encoded in chunks, with the gradient of the whole
// (Gao et al., "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup", 2021).
//
// A first pass encodes every chunk and keeps only the vectors of its texts. The loss of the whole
// batch gives the gradient of those vectors. A second pass encodes every chunk again, with the same
// dropout masks, and carries the gradient of its vectors to the weights. The price is one more
// forward pass; memory holds one chunk's activations. Gradients differ from those of the batch in
// one piece only by the order of the sums over chunks.
//
// The same chunks are cut from the share of a batch that each of several processes encodes. Which
// process encodes a text decides nothing: its dropout masks are those it has in the whole batch.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

// Texts that are encoded at once, and the masks they have as a part of their batch.
struct BatchChunk {
  PackedBatch packed;
  EncoderDropout dropout;
};

// Sequences `which` of `texts` (see pack_texts()) in chunks of whole texts, in order. A chunk has
// up to `tokens` tokens, at least one text; 0: one chunk. `dropout` is the batch's.
std::vector<BatchChunk> cut_chunks(const std::vector<std::vector<int32_t>>& texts,
                                   const std::vector<int32_t>& second,
                                   const std::vector<int32_t>& which, int64_t tokens,
                                   const EncoderShape& shape, const EncoderDropout& dropout);

// Vectors [texts, H] of a chunk.
using EncodeChunk = std::function<torch::Tensor(const BatchChunk&)>;

// The first pass: the vectors [texts, H] of all chunks, without the graph that made them.
torch::Tensor encode_without_graph(const std::vector<BatchChunk>& chunks,
                                   const EncodeChunk& encode);

// The second pass: `encode` again, and backwards with each chunk's part of `gradient` [texts, H].
void carry_gradient(const std::vector<BatchChunk>& chunks, const EncodeChunk& encode,
                    const torch::Tensor& gradient);

// Bounds [ranks + 1]: rank r has the texts which[bounds[r]] .. which[bounds[r + 1] - 1], with about
// the same number of tokens each; shares may be empty.
std::vector<int64_t> cut_shares(const std::vector<std::vector<int32_t>>& texts,
                                const std::vector<int32_t>& which, int64_t ranks);

// The share begin .. end - 1 of cut_chunks() of the whole batch; none where it is empty.
std::vector<BatchChunk> cut_share(const std::vector<std::vector<int32_t>>& texts,
                                  const std::vector<int32_t>& second,
                                  const std::vector<int32_t>& which, int64_t begin, int64_t end,
                                  int64_t tokens, const EncoderShape& shape,
                                  const EncoderDropout& dropout);

}  // namespace simile
