// SPDX-License-Identifier: Apache-2.0
// An encoder's tensors: found in a checkpoint, made new, rounded to a type, and written to a
// safetensors file. Numbers are flat arrays in the order of encoder_layout().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/model/encoder_config.h"
#include "simile/model/safetensors.h"
#include "simile/model/tensor_source.h"

namespace simile {

struct EncoderTensors {
  std::vector<const TensorInfo*> found;   // those of encoder_layout(), in its order
  std::vector<const TensorInfo*> others;  // heads and what else there is, in the file's order
};

// Finds the tensors of an encoder. Names are looked up with and without a prefix (the family's, "bert.", or one that wrappers of encoders put there, "model.") and, for LayerNorm,
// under the legacy names gamma and beta. Errors (kInput) name the tensor, the shape expected and
// the config keys it follows from, and the shape found.
EncoderTensors find_encoder_tensors(const TensorSource& file, const EncoderConfig& config);

// Tells of heads on top of the encoder (is_head_tensor()), which are not used, in one line, and of
// tensors that are neither heads nor known to be left in checkpoints (position_ids) as a warning.
void tell_others(const TensorSource& file, const EncoderConfig& config,
                 const std::vector<const TensorInfo*>& others, EventSink& events);

// Random weights for an encoder that starts from nothing.
// Fills flat[encoder_parameter_count(config.shape())] as BERT is initialised: matrices and
// embeddings from N(0, 0.02^2), the padding token's embedding and all biases 0, LayerNorm
// weights 1; or the table of a static encoder from N(0, 1/H), so that rows are about 1 long.
// Each tensor draws from its own stream, named
// after it, so the numbers depend on `seed` and shape alone.
void initialise_encoder_weights(const EncoderConfig& config, uint64_t seed, float* flat);

// Replaces each weight by its value in a file written with `type`: the nearest half or bfloat16, or
// with kI8, for a matrix, the nearest whole multiple of its row's scale. F32 stays.
void round_encoder_weights(const EncoderConfig& config, TensorType type, float* flat);

// Writes the flat array under the family's names as F32, F16, BF16 or I8,
// and `others` behind it. As I8 every matrix NAME becomes bytes and its rows' scales NAME.scale;
// vectors stay in F32. Errors: kFailed for a weight too large for F16, or not finite in I8.
void write_encoder_weights(const std::string& path, const EncoderConfig& config, const float* flat,
                           TensorType type = TensorType::kF32,
                           const std::vector<TensorView>& others = {});

// The tensors of a checkpoint that are no part of the encoder (pooler, heads, position ids) and do
// not share their numbers with one that is, for write_encoder_weights(): without the family's
// prefix, valid while `source` and `memory` (for copies) live.
std::vector<TensorView> other_tensors(const TensorSource& source, const EncoderConfig& config,
                                      std::vector<std::string>& memory);

}  // namespace simile
