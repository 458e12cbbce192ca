// SPDX-License-Identifier: Apache-2.0
#include "bench/encoder_check.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "simile/batch/packing.h"
#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/model/encoder_reader.h"
#include "simile/nn/engines.h"
#include "simile/nn/head.h"

namespace simile::bench {
namespace {

// How far vectors of length 1 may be from those in fp32.
double tolerance_of(ProductType products) {
  if (products == ProductType::kFloat) return 1e-5;
  return products == ProductType::kBfloat ? 1e-2 : 5e-2;
}

}  // namespace

double check_vectors(const SentenceEncoder& encoder, const std::string& folder,
                     ProductType products, const Workload& sequences) {
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
  const double difference = (vectors - expected).abs().max().item<double>();
  const double tolerance = tolerance_of(products);
  SIMILE_CHECK(difference < tolerance, ErrorKind::kFailed,
               "vectors differ from the oracle's by {}, expected less than {}", difference,
               tolerance);
  return difference;
}

}  // namespace simile::bench
