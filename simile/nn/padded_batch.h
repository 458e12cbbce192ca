// SPDX-License-Identifier: Apache-2.0
// A packed batch as index tensors on a device, made once for all layers: its tokens, and its
// sequences in groups of similar lengths, each padded to the longest of its group, for attention.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"

namespace simile {

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

struct PaddedBatch {
  PaddedBatch(const EncoderShape& shape, const PackedBatch& batch, torch::Device device);

  torch::Tensor ids, types, positions;  // [tokens] of int64; positions are rows of the table
  std::vector<PaddedGroup> groups;
  torch::Tensor places;  // [tokens] of int64: a token's among those of all groups, one behind the
                         // other
  // Of rotary positions, for layers that see all (0) and local ones (1): cosine and sine of each
  // place and pair of numbers [longest, d / 2]; not defined: they do not rotate.
  torch::Tensor cosines[2], sines[2];
  torch::Tensor buckets;  // [longest, longest] of int64: of query and key; not defined: none
};

}  // namespace simile
