// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "bench/benchmarks.h"
#include "bench/timing.h"
#include "bench/workload.h"
#include "simile/batch/pack.h"
#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/loss/loss.h"
#include "simile/loss/mnrl.h"
#include "simile/model/encoder_reader.h"
#include "simile/model/model_folder.h"
#include "simile/nn/fused_encoder.h"
#include "simile/nn/pooling.h"
#include "simile/nn/torch_encoder.h"
#include "simile/train/flat_optimizer.h"

namespace simile::bench {
namespace {

constexpr int64_t kPairs = 32;
constexpr double kLearningRate = 2e-5;

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

// Milliseconds of one or more steps.
struct Phases {
  double prepare = 0;        // packing, embedding rows brought up to date
  double forward = 0;        // the encoder
  double loss = 0;           // pooling, cosines and cross entropy, and its number read
  double loss_backward = 0;  // the same backward, as far as the hidden states
  double backward = 0;       // the encoder
  double optimizer = 0;      // norm, clipping, AdamW, gradients set to zero

  double total() const { return prepare + forward + loss + loss_backward + backward + optimizer; }
};

class Trainer {
 public:
  Trainer(const std::string& model_folder, double dropout, ProductType products)
      : folder_(open_model_folder(model_folder, silent_events())),
        node_(folder_.settings.encoder.shape(),
              allocate_encoder_memory(folder_.settings.encoder.shape(), torch::kCPU), products),
        loss_(mnrl_options()) {
    dropout_.key = stream_key(1, "dropout");
    start_again(dropout);
  }

  // The weights of the folder, and an optimiser that has seen nothing.
  void start_again(double dropout) {
    dropout_.hidden = dropout_.attention = static_cast<float>(dropout);
    read_encoder_weights(folder_.weights_path, folder_.settings.encoder,
                         node_.parameters().data_ptr<float>(), silent_events());
    const std::vector<ParameterSlot> layout = encoder_layout(node_.shape());
    optimizer_ = std::make_unique<FlatOptimizer>(OptimizerOptions(), layout,
                                                 node_.parameters().data_ptr<float>(),
                                                 deferred_table(layout.front()));
  }

  // One training step; returns the loss.
  double step(const Workload& sequences, double learning_rate, Phases& phases) {
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
    const torch::Tensor hidden = node_.forward(batch, dropout_);
    lap(phases.forward);
    const torch::Tensor loss =
        loss_(halves(pool_tokens(hidden, batch.offsets, PoolingMode::kMean)));
    const double value = loss.item<double>();
    SIMILE_CHECK(std::isfinite(value), ErrorKind::kFailed, "the loss is not finite");
    lap(phases.loss);
    hidden.register_hook([&](const torch::Tensor&) { lap(phases.loss_backward); });
    loss.backward();
    lap(phases.backward);
    const double norm = optimizer_->step(learning_rate, node_.gradients().data_ptr<float>());
    SIMILE_CHECK(std::isfinite(norm), ErrorKind::kFailed, "the gradient is not finite");
    lap(phases.optimizer);
    return value;
  }

  // |g - g'| / |g'| of the gradient g of the fused engine and g' of plain ATen calls, without
  // dropout.
  double gradient_difference(const Workload& sequences) {
    const PackedBatch batch = pack(sequences);
    const auto backward = [&](const torch::Tensor& hidden) {
      loss_(halves(pool_tokens(hidden, batch.offsets, PoolingMode::kMean))).backward();
    };
    backward(node_.forward(batch, EncoderDropout()));
    const torch::Tensor found = node_.gradients().clone();
    const torch::Tensor weights = node_.parameters().clone().set_requires_grad(true);
    backward(encode_with_torch(node_.shape(), weights, batch));
    const double difference = (found - weights.grad()).norm().item<double>();
    const double scale = weights.grad().norm().item<double>();
    node_.gradients().zero_();
    return difference / scale;
  }

  const EncoderShape& shape() const { return node_.shape(); }

 private:
  ModelFolder folder_;
  FusedEncoder node_;
  Loss loss_;
  EncoderDropout dropout_;
  std::unique_ptr<FlatOptimizer> optimizer_;
};

struct Checks {
  double gradient_difference, first_loss, last_loss;
};

// The gradient is the oracle's, the first loss near that of chance, and steps on one batch lower
// it.
Checks check_training(Trainer& trainer, const Workload& all, ProductType products) {
  const double tolerance = products == ProductType::kFloat ? 1e-4 : 1e-2;
  constexpr double kChanceTolerance = 1.0, kCheckRate = 1e-4;
  constexpr int kSteps = 4;
  Checks checks{trainer.gradient_difference(take_batch(all, 0, 8)), 0, 0};
  SIMILE_CHECK(checks.gradient_difference < tolerance, ErrorKind::kFailed,
               fmt::format("the gradient differs from the oracle's by {} of its norm, expected "
                           "less than {}",
                           checks.gradient_difference, tolerance));
  const Workload batch = take_batch(all, 0, 2 * kPairs);
  Phases ignored;
  trainer.start_again(0.0);
  for (int i = 0; i < kSteps; ++i) {
    checks.last_loss = trainer.step(batch, kCheckRate, ignored);
    if (i == 0) checks.first_loss = checks.last_loss;
  }
  const double chance = std::log(static_cast<double>(kPairs));
  SIMILE_CHECK(std::abs(checks.first_loss - chance) < kChanceTolerance &&
                   checks.last_loss < checks.first_loss,
               ErrorKind::kFailed,
               fmt::format("the loss went from {} to {} in {} steps; expected a fall from about {}",
                           checks.first_loss, checks.last_loss, kSteps, chance));
  return checks;
}

nlohmann::json phases_per_step(const Phases& phases, double steps) {
  return {{"prepare", phases.prepare / steps},
          {"encoder_forward", phases.forward / steps},
          {"loss_forward", phases.loss / steps},
          {"loss_backward", phases.loss_backward / steps},
          {"encoder_backward", phases.backward / steps},
          {"optimizer", phases.optimizer / steps},
          {"total", phases.total() / steps}};
}

}  // namespace

nlohmann::json measure_training(const BenchOptions& options) {
  const Workload all = read_workload(options.workload_folder, options.distribution);
  Trainer trainer(options.model_folder, options.dropout, options.products);
  const Checks checks = check_training(trainer, all, options.products);
  trainer.start_again(options.dropout);

  SgemmPeak peak;
  peak.measure();
  Phases ignored, phases;
  double operations = 0;
  for (int64_t i = 0; i < 2; ++i) {  // the peer's own warm-up
    trainer.step(take_batch(all, options.batches + i, 2 * kPairs), kLearningRate, ignored);
  }
  std::vector<double> seconds;
  for (int64_t round = 0; round < options.rounds; ++round) {
    const double start = now_seconds();
    for (int64_t i = 0; i < options.batches; ++i) {
      trainer.step(take_batch(all, i, 2 * kPairs), kLearningRate, phases);
    }
    seconds.push_back(now_seconds() - start);
    peak.measure();
  }
  for (int64_t i = 0; i < options.batches; ++i) {
    operations += 3 * forward_operations(trainer.shape(), take_batch(all, i, 2 * kPairs));
  }
  const double time = median(seconds);
  const auto steps = static_cast<double>(options.batches * options.rounds);
  return {{"mode", "train"},
          {"pairs_per_second", static_cast<double>(kPairs * options.batches) / time},
          {"pairs", kPairs * options.batches},
          {"seconds", seconds},
          {"dropout", options.dropout},
          {"compute", options.products == ProductType::kFloat ? "fp32" : "bf16"},
          {"milliseconds_per_step", phases_per_step(phases, steps)},
          {"gflops", 1e-9 * operations / time},
          {"sgemm_gflops", peak.gflops()},
          {"share_of_sgemm", 1e-9 * operations / time / peak.gflops()},
          {"gradient_difference_from_oracle", checks.gradient_difference},
          {"loss_first", checks.first_loss},
          {"loss_after_4_steps_on_one_batch", checks.last_loss}};
}

}  // namespace simile::bench
