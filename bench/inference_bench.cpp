// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "bench/benchmarks.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "simile/batch/pack.h"
#include "simile/core/error.h"
#include "simile/core/threads.h"
#include "simile/encode/precision.h"
#include "simile/encode/sentence_encoder.h"
#include "simile/model/encoder_reader.h"
#include "simile/nn/pooling.h"
#include "simile/nn/torch_encoder.h"

namespace simile::bench {
namespace {

constexpr int64_t kBatch = 32;
constexpr int64_t kChecked = 8;  // sentences

// How far vectors of length 1 may be from those in fp32.
double tolerance_of(ProductType products) {
  if (products == ProductType::kFloat) return 1e-5;
  return products == ProductType::kBfloat ? 1e-2 : 5e-2;
}

// Largest difference between vectors of `encoder` and those of plain ATen calls with the weights of
// the same file.
double difference_from_oracle(const SentenceEncoder& encoder, const std::string& folder,
                              const Workload& sequences) {
  const EncoderConfig& config = encoder.settings().encoder;
  torch::Tensor weights = torch::empty({encoder_parameter_count(config.shape())});
  read_encoder_weights(open_model_folder(folder, silent_events()).weights_path, config,
                       weights.data_ptr<float>(), silent_events());
  std::vector<int32_t> all(sequences.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  const PackedBatch batch = pack_texts(sequences, {}, all);
  const int threads = thread_count();
  const torch::NoGradGuard no_grad;
  const torch::Tensor pooled = pool_tokens(encode_with_torch(config.shape(), weights, batch),
                                           batch.offsets, PoolingMode::kMean);
  const torch::Tensor expected = pooled / pooled.norm(2, 1, true);
  set_thread_count(threads);  // ATen's first call sets it to its own default
  Matrix<float> found = encoder.encode_ids(sequences, {}, silent_events());
  const torch::Tensor vectors = torch::from_blob(found.values.data(), {found.rows, found.cols});
  return (vectors - expected).abs().max().item<double>();
}

}  // namespace

nlohmann::json measure_inference(const BenchOptions& options) {
  const SentenceEncoder encoder =
      SentenceEncoder::load(options.model_folder, silent_events(), options.products);
  const Workload all = read_workload(options.workload_folder, options.distribution);
  const Workload sequences = take_batch(all, 0, kBatch * options.batches);
  const double difference =
      difference_from_oracle(encoder, options.model_folder, take_batch(all, 0, kChecked));
  const double tolerance = tolerance_of(options.products);
  SIMILE_CHECK(difference < tolerance, ErrorKind::kFailed,
               fmt::format("vectors differ from the oracle's by {}, expected less than {}",
                           difference, tolerance));

  SgemmPeak peak;
  peak.measure();
  encoder.encode_ids(take_batch(all, 0, 2 * kBatch), {}, silent_events());
  std::vector<double> seconds;
  for (int64_t round = 0; round < options.rounds; ++round) {
    const double start = now_seconds();
    encoder.encode_ids(sequences, {}, silent_events());
    seconds.push_back(now_seconds() - start);
    peak.measure();
  }
  const double time = median(seconds);
  const double operations = forward_operations(encoder.settings().encoder.shape(), sequences);
  return {{"mode", "infer"},
          {"precision", precision_names()[static_cast<size_t>(options.products)]},
          {"sentences_per_second", static_cast<double>(sequences.size()) / time},
          {"sentences", sequences.size()},
          {"seconds", seconds},
          {"gflops", 1e-9 * operations / time},
          {"sgemm_gflops", peak.gflops()},
          {"share_of_sgemm", 1e-9 * operations / time / peak.gflops()},
          {"difference_from_oracle", difference}};
}

}  // namespace simile::bench
