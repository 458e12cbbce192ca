// SPDX-License-Identifier: Apache-2.0
#include "simile/train/smoothing.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/nn/pooling.h"

namespace simile {

Smoothing::Smoothing(const SiarOptions& options, ModelWeights& weights, const Pooling& pooling,
                     uint64_t seed)
    : options_(options), weights_(weights), pooling_(pooling), seed_(seed) {
  if (options_.bregman > 0) average_ = weights_.copy();
}

SmoothOutput Smoothing::perturbed(const StepBatch& batch, const torch::Tensor& delta,
                                  bool for_perturbation) {
  const BatchChunk& chunk = batch.chunks.front();
  const torch::Tensor hidden =
      weights_.encoder().forward(chunk.packed, chunk.dropout, delta.to(torch::kFloat32),
                                 for_perturbation ? WeightGradients::kSkip : WeightGradients::kAdd);
  const Objective& objective = batch.objective;
  return objective.loss().output(objective.read(objective.data().train, batch.examples,
                                                pool_tokens(hidden, chunk.packed.offsets, pooling_),
                                                batch.head_dropout));
}

SmoothOutput Smoothing::averaged(const StepBatch& batch) {
  torch::NoGradGuard guard;
  const BatchChunk& chunk = batch.chunks.front();
  const torch::Tensor hidden =
      weights_.encoder().forward_with(average_.data(), chunk.packed, chunk.dropout);
  const Objective& objective = batch.objective;
  BatchReader reader{objective.loss()};
  std::vector<HeadModule> head;  // none or one
  if (objective.head() != nullptr) {
    const HeadSettings& settings = objective.head()->settings();
    head.emplace_back(settings, objective.head()->embedding_size());
    std::copy_n(
        average_.data() + weights_.head_offset(find_head(weights_.head_settings(), settings.name)),
        head[0].parameter_count(), head[0].weights());
    reader.head = head.data();
  }
  return reader.loss.output(reader(objective.data().train, batch.examples,
                                   pool_tokens(hidden, chunk.packed.offsets, pooling_),
                                   batch.head_dropout));
}

torch::Tensor Smoothing::penalty(const StepBatch& batch, const LossInput& clean) {
  const SmoothOutput output = batch.objective.loss().output(clean);
  torch::Tensor sum;
  if (options_.weight > 0) {
    const SiarResult result = siar_penalty(
        options_, output,
        [&](const torch::Tensor& delta, bool for_perturbation) {
          return perturbed(batch, delta, for_perturbation);
        },
        {batch.chunks.front().packed.tokens(), weights_.encoder().shape().hidden}, seed_,
        batch.step);
    skipped_ += result.skipped ? 1 : 0;
    sum = result.penalty;
  }
  if (options_.bregman > 0) {
    const torch::Tensor term = bregman_penalty(options_, output, averaged(batch));
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

void Smoothing::follow_weights() {
  const auto follow = [&](int64_t offset, const float* weights, int64_t count) {
    update_average(average_.data() + offset, weights, count, options_.bregman_decay);
  };
  EncoderNode& encoder = weights_.encoder();
  follow(0, encoder.weights(), encoder.parameter_count());
  for (size_t i = 0; i < weights_.heads().size(); ++i) {
    HeadModule& head = weights_.heads()[i];
    follow(weights_.head_offset(i), head.weights(), head.parameter_count());
  }
}

void Smoothing::load_state(std::vector<float> average, int64_t skipped) {
  SIMILE_CHECK(average.size() == average_.size(), ErrorKind::kInput,
               "checkpoint: the moving average of the weights has another size than the model; was "
               "it written by another recipe?");
  average_ = std::move(average);
  skipped_ = skipped;
}

}  // namespace simile
