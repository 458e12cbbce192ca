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

// Reads the sizes of a static encoder: V and H.
EncoderConfig read_static_config(const std::string& weights_path);

// Whether rows are made of several tensors, as Model2Vec's may be.
bool is_composed_table(const TensorSource& file);

// The rows [V, H] of such a table.
void read_composed_table(const TensorSource& file, const EncoderConfig& config, float* flat);

// For inference. A table in F32, F16 or I8 that is not composed stays in the memory map, in its own
// type: pages are shared between processes, read on first use, not checked. Others become floats.
std::shared_ptr<const Encoder> open_static_encoder(const std::string& path,
                                                   const EncoderConfig& config, EventSink& events);

// The module of a static encoder in a model folder: the table beside the tokenizer.
inline constexpr const char* kStaticFolder = "0_StaticEmbedding";

}  // namespace simile
