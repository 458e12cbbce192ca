// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"
#include "bench/encoder_check.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "simile/encode/sentence_encoder.h"

namespace simile::bench {
namespace {

constexpr int64_t kBatch = 32;
constexpr int64_t kChecked = 8;  // sentences

}  // namespace

nlohmann::json measure_inference(const BenchOptions& options) {
  const SentenceEncoder encoder =
      SentenceEncoder::load(options.model_folder, silent_events(), options.products);
  const Workload all = read_workload(options.workload_folder, options.distribution);
  const Workload sequences = take_batch(all, 0, kBatch * options.batches);
  const double difference =
      check_vectors(encoder, options.model_folder, options.products, take_batch(all, 0, kChecked));
  MachinePeak peak(options.products);
  peak.measure();
  const Matrix<float> first =
      encoder.encode_ids(take_batch(all, 0, 2 * kBatch), {}, silent_events());
  std::vector<double> seconds;
  for (int64_t round = 0; round < options.rounds; ++round) {
    const double start = now_seconds();
    encoder.encode_ids(sequences, {}, silent_events());
    seconds.push_back(now_seconds() - start);
    peak.measure();
  }
  const double time = median(seconds);
  nlohmann::json result = {{"sentences_per_second", static_cast<double>(sequences.size()) / time},
                           {"sentences", sequences.size()},
                           {"seconds", seconds},
                           {"vectors", first.values},
                           {"difference_from_oracle", difference}};
  peak.report(forward_operations(encoder.settings().encoder.shape(), sequences) / time, result);
  return result;
}

}  // namespace simile::bench
