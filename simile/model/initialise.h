// SPDX-License-Identifier: Apache-2.0
// Random weights for an encoder that starts from nothing.
#pragma once

#include <cstdint>

#include "simile/model/encoder_config.h"

namespace simile {

// Fills flat[encoder_parameter_count(config.shape())] as BERT is initialised: matrices and
// embeddings from N(0, 0.02^2), the padding token's embedding and all biases 0, LayerNorm
// weights 1; or the table of a static encoder from N(0, 1/H), so that rows are about 1 long; or
// each part of a joined one, under a seed of its own. Each tensor draws from its own stream, named
// after it, so the numbers depend on `seed` and shape alone.
void initialise_encoder_weights(const EncoderConfig& config, uint64_t seed, float* flat);

}  // namespace simile
