// SPDX-License-Identifier: Apache-2.0
// Parts of the torch engine, on the tensors' device: attention, dropout, batches as index tensors.
//
// Attention of padded sequences: only this file depends on the version of libtorch. libtorch 2 has
// attention as one operator, which never stores the attention weights (FlashAttention, Dao et al.
// 2022, on GPUs); otherwise, and in libtorch 1, it is made of products.
//
// Dropout: the masks of simile/kernel/dropout.h, drawn by the processor.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

struct AttentionInput {
  torch::Tensor query, key, value;  // [n, heads, L, d], of one type
  torch::Tensor hidden;             // [n or 1, 1, 1 or L, L]: keys not seen; not defined: none
  torch::Tensor shift = {};         // [heads, L, L], added to scores; not defined: none
  torch::Tensor factors = {};       // [n, heads, L, L], on the shares (dropout); not defined: none
};

// softmax(query key^T / sqrt(d) + shift) value, the softmax in float or double: [n, heads, L, d] of
// the type of `value`. Rows that see no key, of padding, are finite. Differentiable.
torch::Tensor attention_contexts(const AttentionInput& input);

// Bytes first ... first + bytes of each mask, [masks, bytes] of uint8 on `device`. The processor
// draws them: on a GPU that would take hundreds of small kernels.
torch::Tensor draw_masks(const std::vector<DropoutMask>& masks, int64_t first, int64_t bytes,
                         torch::Device device);

// For each mask: the factors 0 or mask.scale() [..., 8 n] of its bytes, bytes [masks, ..., n], in
// type and on the device of `like`.
std::vector<torch::Tensor> dropout_factors(const std::vector<DropoutMask>& masks,
                                           const torch::Tensor& bytes, const torch::Tensor& like);

// For each mask: factors [rows, width] of rows first_row ... of mask_bytes(width) bytes each.
std::vector<torch::Tensor> dropout_rows(const std::vector<DropoutMask>& masks, int64_t first_row,
                                        int64_t rows, int64_t width, const torch::Tensor& like);

// DropHead: factors [sequences, heads] of the sequences from `first` on, see
// DropoutMask::fill_heads().
torch::Tensor dropout_heads(const DropoutMask& mask, int64_t first, int64_t sequences,
                            int64_t heads, const torch::Tensor& like);

// The means [sequences, H] of the rows [tokens, H] of each sequence, differentiable.
torch::Tensor sequence_means(const torch::Tensor& rows, const PackedBatch& batch);

// n sequences as a rectangle of n rows of L places.
struct PaddedGroup {
  int64_t size = 0, length = 0;     // n, L
  torch::Tensor tokens;             // [n L] of int64: the token at each place; 0 at padding
  torch::Tensor sequences;          // [n] of int64: their numbers in the batch
  torch::Tensor lengths;            // [n] of int64
  torch::Tensor mask_bytes;         // [n] of int64: where their attention masks begin in a layer's
  torch::Tensor hidden;             // [n, 1, 1, L]: keys that are padding; not defined: none is
  torch::Tensor hidden_in_windows;  // [n or 1, 1, L, L]: the same in local layers, with what is
                                    // outside the window; not defined: there are none
};

// A packed batch as index tensors, made once for all layers: its tokens, and its sequences in
// groups of similar lengths, each padded to the longest of its group, for attention.
struct PaddedBatch {
  PaddedBatch(const EncoderShape& shape, const PackedBatch& batch, torch::Device device);

  torch::Tensor ids, types, positions;  // [tokens] of int64; positions are rows of the table
  std::vector<PaddedGroup> groups;
  torch::Tensor places;  // [tokens] of int64: a token's among those of all groups, one behind the
                         // other
  // Rotary positions, for layers that see all (0) and local ones (1): cosine and sine of each
  // place and pair of numbers [longest, d / 2]; not defined: they do not rotate.
  torch::Tensor cosines[2], sines[2];
  int64_t attention_bytes = 0;  // of a layer's attention masks
  torch::Tensor buckets;        // [longest, longest] of int64: of query and key; not defined: none
};

}  // namespace simile
