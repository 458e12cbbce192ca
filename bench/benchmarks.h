// SPDX-License-Identifier: Apache-2.0
// The measurements. Each checks its answers and throws ErrorKind::kFailed when they are wrong: a
// speed is only reported for a correct result. All times are wall time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "simile/kernel/matrix_product.h"

namespace simile::bench {

struct BenchOptions {
  std::string model_folder;
  std::string workload_folder;
  std::string distribution;                    // short, mixed or even
  int64_t batches = 10;                        // of 32 sentences, or of `pairs`
  int64_t rounds = 1;                          // passes over these batches; medians are told
  int64_t pairs = 32;                          // of a training step
  double dropout = 0.1;                        // training only
  ProductType products = ProductType::kFloat;  // the encoder's
};

// Encodes the first 32 * batches sentences in one call of SentenceEncoder::encode_ids: it sorts and
// packs, the vectors are the normalised mean of the tokens. Unit: sentences. `vectors` holds the
// first 64.
nlohmann::json measure_inference(const BenchOptions& options);

// Steps on 32 pairs each, of consecutive sentences: the encoder's node with dropout, mean pooling,
// cross entropy of 20 times the cosines within the batch, backward, gradients clipped to norm 1,
// AdamW. Unit: pairs; phases in ms per step.
nlohmann::json measure_training(const BenchOptions& options);

// The same steps on `pairs` pairs, two to warm up and `batches` more, and the peak of the process's
// memory. Answers are not checked here, since that would take memory too; measure_training() does.
nlohmann::json measure_training_memory(const BenchOptions& options);

// Calls of SentenceEncoder::encode_ids with one sequence each, the first `calls` of the workload,
// after 50 to warm up. Median and 99th percentile in ms.
nlohmann::json measure_latency(const BenchOptions& options, int64_t calls);

// The lines of a file tokenised, and then encoded in one call of SentenceEncoder::encode_ids.
// Seconds of both, and of loading the model.
nlohmann::json measure_texts(const BenchOptions& options, const std::string& text_file);

// One text of `tokens` tokens encoded, alone; or a training step on a pair of such texts beside a
// pair of short ones. Seconds of the second time, the peak of memory meanwhile and what was
// resident before, in bytes.
nlohmann::json measure_long_inference(const BenchOptions& options, int64_t tokens);
nlohmann::json measure_long_training(const BenchOptions& options, int64_t tokens);

}  // namespace simile::bench
