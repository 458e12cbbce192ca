// SPDX-License-Identifier: Apache-2.0
// The two measurements. Each checks its answers first and throws ErrorKind::kFailed when they are
// wrong: a speed is only told of a right result.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "simile/kernel/product_type.h"

namespace simile::bench {

struct BenchOptions {
  std::string model_folder;
  std::string workload_folder;
  std::string distribution;                    // short or long
  int64_t batches = 10;                        // of 32 sentences, or of 32 pairs
  int64_t rounds = 1;                          // passes over these batches; medians are told
  double dropout = 0.1;                        // training only
  ProductType products = ProductType::kFloat;  // the encoder's
};

// Encodes the first 32 * batches sentences in one call of SentenceEncoder::encode_ids: it sorts and
// packs, the vectors are the normalised mean of the tokens. Unit: sentences.
nlohmann::json measure_inference(const BenchOptions& options);

// Steps on 32 pairs each, of consecutive sentences: the encoder's node with dropout, mean pooling,
// cross entropy of 20 times the cosines within the batch, backward, gradients clipped to norm 1,
// AdamW. Unit: pairs; phases in ms per step.
nlohmann::json measure_training(const BenchOptions& options);

}  // namespace simile::bench
