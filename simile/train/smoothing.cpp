// SPDX-License-Identifier: Apache-2.0
#include "simile/train/smoothing.h"

#include <torch/utils.h>

#include "simile/core/check.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/nn/head.h"
#include "simile/train/shared_training.h"

namespace simile {

Smoothing::Smoothing(const SiarOptions& options, ModelWeights& weights,
                     const ModelSettings& settings, uint64_t seed, ProcessGroup* group)
    : options_(options), weights_(weights), settings_(settings), seed_(seed), group_(group) {
  if (!has_average()) return;
  average_ = weights_.encoder().parameters().clone();
  for (const HeadModule& head : weights_.heads()) {
    average_heads_.push_back(
        place_head(head.settings(), head.embedding_size(), weights_.placement()));
    average_heads_.back().from_host(head.to_host().data());
  }
  share_layers(average_heads_);
}

// The vectors of all texts of a batch, of which `own` are this process's.
torch::Tensor Smoothing::gather(const StepBatch& batch, const torch::Tensor& own) const {
  return group_ == nullptr ? own : gather_with_gradient(*group_, own, batch.shares);
}

// This process's share, and so is delta.
torch::Tensor Smoothing::shifted(const StepBatch& batch, const torch::Tensor& delta,
                                 bool for_perturbation) {
  // Other processes ask for a gradient, and so it is one of nothing.
  if (batch.chunks.empty()) {
    return no_vectors(settings_, weights_.placement().device) + delta.sum().to(torch::kFloat32);
  }
  const BatchChunk& chunk = batch.chunks.front();
  const torch::Tensor hidden =
      weights_.encoder().forward(chunk.packed, chunk.dropout, delta.to(torch::kFloat32),
                                 for_perturbation ? WeightGradients::kSkip : WeightGradients::kAdd);
  return pool_tokens(hidden, chunk.packed.offsets, settings_.pooling);
}

SmoothOutput Smoothing::perturbed(const StepBatch& batch, const torch::Tensor& delta,
                                  bool for_perturbation) {
  const Objective& objective = batch.objective;
  return objective.loss().output(
      objective.read(objective.data().train, batch.examples,
                     gather(batch, shifted(batch, delta, for_perturbation)), batch.head_dropout));
}

SmoothOutput Smoothing::averaged(const StepBatch& batch) {
  torch::NoGradGuard guard;
  torch::Tensor own = no_vectors(settings_, weights_.placement().device);
  if (!batch.chunks.empty()) {
    const BatchChunk& chunk = batch.chunks.front();
    own = pool_tokens(weights_.encoder().forward_with(average_, chunk.packed, chunk.dropout),
                      chunk.packed.offsets, settings_.pooling);
  }
  const Objective& objective = batch.objective;
  BatchReader reader{objective.loss()};
  if (objective.head() != nullptr) {
    const std::string& name = objective.head()->settings().name;
    reader.head = &average_heads_[find_head(weights_.head_settings(), name)];
  }
  return reader.loss.output(
      reader(objective.data().train, batch.examples, gather(batch, own), batch.head_dropout));
}

torch::Tensor Smoothing::penalty(const StepBatch& batch, const LossInput& clean) {
  const SmoothOutput output = batch.objective.loss().output(clean);
  torch::Tensor sum;
  if (options_.weight > 0) {
    const int64_t tokens = batch.chunks.empty() ? 0 : batch.chunks.front().packed.tokens();
    const int64_t width = weights_.encoder().shape().hidden;
    const SiarResult result = siar_penalty(
        options_, output,
        [&](const torch::Tensor& delta, bool for_perturbation) {
          return perturbed(batch, delta, for_perturbation);
        },
        siar_noise({tokens, width}, options_.noise, seed_, batch.step, batch.first_token * width),
        [this](bool here) {  // whether it is so in all processes
          if (group_ == nullptr) return here;
          const torch::Tensor missing = torch::full({1}, here ? 0.0f : 1.0f);
          group_->sum(missing);
          return missing.item<float>() == 0;
        });
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
  update_average(average_, weights_.encoder().parameters(), options_.bregman_decay);
  for (size_t i = 0; i < average_heads_.size(); ++i) {
    update_average(average_heads_[i].parameters(), weights_.heads()[i].parameters(),
                   options_.bregman_decay);
  }
}

std::vector<float> Smoothing::average() const {
  if (!has_average()) return {};
  const torch::Tensor encoder = average_.cpu();
  std::vector<float> all(encoder.data_ptr<float>(), encoder.data_ptr<float>() + encoder.numel());
  for (const HeadModule& head : average_heads_) {
    const std::vector<float> weights = head.to_host();
    all.insert(all.end(), weights.begin(), weights.end());
  }
  return all;
}

void Smoothing::load_state(const std::vector<float>& average, int64_t skipped) {
  const int64_t expected = has_average() ? weights_.count() : 0;
  SIMILE_CHECK(static_cast<int64_t>(average.size()) == expected, ErrorKind::kInput,
               "checkpoint: the moving average of the weights has another size than the model; was "
               "it written by another recipe?");
  skipped_ = skipped;
  if (!has_average()) return;
  const float* next = average.data();
  average_.copy_(torch::from_blob(const_cast<float*>(next), average_.sizes()));
  next += average_.numel();
  for (HeadModule& head : average_heads_) {
    head.from_host(next);
    next += head.parameter_count();
  }
}

}  // namespace simile
