// SPDX-License-Identifier: Apache-2.0
// From what backward left of each token to the gradients of the weights.
#pragma once

#include <vector>

#include "simile/kernel/detail/backward_memory.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/packed.h"

namespace simile {

// The tiles of a layer's matrices, and of the projection, if there is one.
std::vector<WeightTile> layer_tiles(const EncoderShape& shape, const EncoderProducts& products,
                                    const BackwardMemory& memory, const LayerGradients& tokens,
                                    const LayerPointers<float>& weights);
std::vector<WeightTile> projection_tiles(const EncoderShape& shape, const EncoderProducts& products,
                                         const BackwardMemory& memory,
                                         const EncoderGradients& weights);

// Adds the chunks' sums, in their order, to what the encoder has of one layer's vectors, and of the
// others.
void add_sums(const EncoderShape& shape, const std::vector<VectorSums>& chunks,
              const LayerPointers<float>& weights);
void add_encoder_sums(const EncoderShape& shape, const PositionTables& tables,
                      const std::vector<EncoderSums>& chunks, const EncoderGradients& weights);

// Adds the gradient rows [rows, E] to the embeddings' rows: by columns, so that each row's sum is
// in the order of the tokens for any number of threads.
void add_embeddings(const EncoderShape& shape, const PackedBatch& batch, const BatchPlan& plan,
                    const float* rows, const EncoderGradients& gradients);

}  // namespace simile
