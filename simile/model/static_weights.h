// SPDX-License-Identifier: Apache-2.0
// The table of a static encoder (simile/kernel/sequence_encoders.h) in a weights file, as
// sentence-transformers' StaticEmbedding and Model2Vec write it:
//
//   embedding.weight | embeddings   [rows, H]  in F32, F16, BF16, or I8 beside NAME.scale [rows]
//   weights                         [V]        Model2Vec: a factor for each token
//   mapping                         [V]        Model2Vec: the row of each token, in I64 or I32
//
// Without a mapping token t has row t and V is the number of rows. The row of a token is
// weights[t] * embeddings[mapping[t]].
//
// Errors: ErrorKind::kInput naming file and tensor: one that is missing, of another shape or type,
// a mapping that leads out of the table, a number that is not finite.
#pragma once

#include <memory>
#include <string>

#include "simile/core/error.h"
#include "simile/kernel/encoder.h"
#include "simile/model/encoder_config.h"
#include "simile/model/tensor_source.h"

namespace simile {

// What there is to know of a static encoder: V and H.
EncoderConfig read_static_config(const std::string& weights_path);

// Whether rows are made of several tensors, as Model2Vec's may be.
bool is_composed_table(const TensorSource& file);

// The rows [V, H] of such a table.
void read_composed_table(const TensorSource& file, const EncoderConfig& config, float* flat);

// For inference. A table in F32, F16 or I8 that is not composed stays in the memory map, in its own
// type: pages are shared between processes and read on first use, and not checked for finite
// numbers. Others become floats.
std::shared_ptr<const Encoder> open_static_encoder(const std::string& path,
                                                   const EncoderConfig& config, EventSink& events);

// The module of a static encoder in a model folder, 0_StaticEmbedding: the table beside the
// tokenizer. Where all tokens count the same it is sentence-transformers'
// StaticEmbedding; else it is simile.StaticEmbedding, which only Simile reads, so that nobody gets
// other vectors of the same folder without noticing, with
//
//   0_StaticEmbedding/config.json   {"saturation": 0.5, "half_position": 64.0}
//
// of simile/kernel/sequence_encoders.h. Errors (kInput) name file and key: one that is not
// known or absurd.
inline constexpr const char* kStaticFolder = "0_StaticEmbedding";
inline constexpr const char* kTokenWeights = "config.json";

void read_token_weights(const std::string& path, EncoderConfig& config);
std::string token_weights_to_json(const EncoderConfig& config);

}  // namespace simile
