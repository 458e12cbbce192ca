// SPDX-License-Identifier: Apache-2.0
// A model folder written anew in the older schema of sentence-transformers, its encoder's weights
// in another precision: whatever files it came in (shards, pytorch_model.bin), it becomes one
// model.safetensors.
//
// Kept as they are: tokenizer and licence files, heads, Dense and LayerNorm modules (F32), and
// tensors that are no part of the encoder, but for those of a joined model's parts. The self test
// of the new folder is of the weights as saved; the card of the old one stands behind the new.
#pragma once

#include <cstdint>
#include <string>

#include "simile/core/event.h"
#include "simile/model/tensor_source.h"

namespace simile {

struct ConversionReport {
  int64_t bytes_before = 0, bytes_after = 0;  // of the encoder's weight files
  // Between the vectors of self_test_sentences() before and after: the largest absolute difference
  // of a coordinate, and the mean and the least of their cosines.
  double largest_difference = 0, mean_cosine = 1, least_cosine = 1;
};

// `type`: kF32, kF16, kBf16 or kI8 (quantise_rows()). Errors: those of open_model_folder() and
// save_model_folder(); kUsage when `output` is the model's own folder.
ConversionReport convert_model(const std::string& model, const std::string& output, TensorType type,
                               EventSink& events);

}  // namespace simile
