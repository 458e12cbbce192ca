// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_trainer.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "bench/timing.h"
#include "simile/batch/packing.h"
#include "simile/core/check.h"
#include "simile/core/random.h"
#include "simile/loss/bsc.h"
#include "simile/model/encoder_reader.h"
#include "simile/nn/engines.h"
#include "simile/nn/head.h"

namespace simile::bench {
namespace {

LossOptions mnrl_options() {
  LossOptions options;
  options.name = "mnrl";
  options.get<MnrlOptions>().scale = 20.0;
  return options;
}

LossInput halves(const torch::Tensor& embeddings) {
  const int64_t pairs = embeddings.size(0) / 2;
  LossInput input;
  input.left = embeddings.narrow(0, 0, pairs);
  input.right = embeddings.narrow(0, pairs, pairs);
  return input;
}

PackedBatch pack(const Workload& sequences) {
  std::vector<int32_t> all(sequences.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  return pack_texts(sequences, {}, all);
}

}  // namespace

Trainer::Trainer(const std::string& model_folder, double dropout, ProductType products)
    : folder_(open_model_folder(model_folder, silent_events())),
      products_(products),
      node_(make_fused_encoder(folder_.settings.encoder.shape(), {}, products)),
      loss_(mnrl_options()) {
  dropout_.key = stream_key(1, "dropout");
  start_again(dropout);
}

void Trainer::start_again(double dropout) {
  dropout_.hidden = dropout_.attention = static_cast<float>(dropout);
  read_encoder_weights(folder_.weights_path, folder_.settings.encoder,
                       node_->parameters().data_ptr<float>(), silent_events());
  const std::vector<ParameterSlot> layout = encoder_layout(node_->shape());
  optimizer_ = std::make_unique<FlatOptimizer>(OptimizerOptions(), layout, node_->parameters(),
                                               node_->gradients(), deferred_table(layout.front()));
}

double Trainer::step(const Workload& sequences, double learning_rate, Phases& phases) {
  double at = now_seconds();
  const auto lap = [&at](double& phase) {
    const double now = now_seconds();
    phase += 1e3 * (now - at);
    at = now;
  };
  const PackedBatch batch = pack(sequences);
  optimizer_->prepare_rows(batch.ids);
  ++dropout_.step;
  lap(phases.prepare);
  const torch::Tensor hidden = node_->forward(batch, dropout_);
  lap(phases.forward);
  const torch::Tensor loss = loss_(halves(pool_tokens(hidden, batch.offsets, PoolingMode::kMean)));
  const double value = loss.item<double>();
  SIMILE_CHECK(std::isfinite(value), ErrorKind::kFailed, "the loss is not finite");
  lap(phases.loss);
  hidden.register_hook([&](const torch::Tensor&) { lap(phases.loss_backward); });
  loss.backward();
  lap(phases.backward);
  const double norm = optimizer_->step(learning_rate);
  SIMILE_CHECK(std::isfinite(norm), ErrorKind::kFailed, "the gradient is not finite");
  lap(phases.optimizer);
  return value;
}

double Trainer::check_gradient(const Workload& sequences) {
  const PackedBatch batch = pack(sequences);
  const auto backward = [&](const torch::Tensor& hidden) {
    loss_(halves(pool_tokens(hidden, batch.offsets, PoolingMode::kMean))).backward();
  };
  backward(node_->forward(batch, EncoderDropout()));
  const torch::Tensor found = node_->gradients().clone();
  const torch::Tensor weights = node_->parameters().clone().set_requires_grad(true);
  backward(encode_with_torch(node_->shape(), weights, batch));
  const double difference = (found - weights.grad()).norm().item<double>();
  const double scale = weights.grad().norm().item<double>();
  node_->gradients().zero_();
  // In bf16, gradients of MiniLM by torch's autocast lie 1.0 (short) to 1.3 % (even) from its own in
  // fp32, and these 0.9 to 1.2 %. The rounding of more than six layers adds up as a random walk.
  const double depth = std::max(1.0, static_cast<double>(node_->shape().layers) / 6);
  const double tolerance = products_ == ProductType::kFloat ? 1e-4 : 1.5e-2 * std::sqrt(depth);
  SIMILE_CHECK(difference < tolerance * scale, ErrorKind::kFailed,
               "the gradient differs from the oracle's by {} of its norm, expected "
               "less than {}",
               difference / scale, tolerance);
  return difference / scale;
}

}  // namespace simile::bench
