// SPDX-License-Identifier: Apache-2.0
// Smoothness-inducing regularisation of a training step (simile/loss/siar.h), encoder and heads.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "simile/loss/siar.h"
#include "simile/model/model_settings.h"
#include "simile/train/gradient_cache.h"
#include "simile/train/objective.h"
#include "simile/train/placement.h"

namespace simile {

class ProcessGroup;

// One training step's batch and the masks of its forward pass, which every other pass repeats.
struct StepBatch {
  const Objective& objective;
  const std::vector<int32_t>& examples;  // of the objective's training set
  std::vector<BatchChunk> chunks;        // none when the encoder is frozen; one unless cached; of
                                         // several processes those of this one's share
  std::vector<int64_t> shares;           // cut_shares() of the texts; of several processes only
  HeadDropout head_dropout;
  uint64_t step;
  int64_t first_token = 0;  // of this process's share among those of the batch, where smoothed
};

class Smoothing {
 public:
  // The moving average starts from the weights as they are. `seed` is that of the noise. `group`:
  // the processes that share each batch and make the same calls, or null. `settings` outlive this.
  Smoothing(const SiarOptions& options, ModelWeights& weights, const ModelSettings& settings,
            uint64_t seed, ProcessGroup* group = nullptr);

  bool is_on() const { return options_.weight > 0 || has_average(); }
  bool has_average() const { return options_.bregman > 0; }

  // The penalty to add to the loss of a batch with the forward pass `clean`; undefined if the
  // perturbation was not finite and there is nothing else to add. Leaves gradients alone. The
  // batch, or this process's share of it, is one chunk, or none where the share is empty.
  torch::Tensor penalty(const StepBatch& batch, const LossInput& clean);

  // To be called after each step of the optimiser where there is an average, all rows up to date.
  void follow_weights();

  int64_t skipped() const { return skipped_; }  // perturbations that were not finite

  // For a checkpoint: the moving average, or empty. Errors (kInput): another number of weights.
  std::vector<float> average() const;
  void load_state(const std::vector<float>& average, int64_t skipped);

 private:
  SmoothOutput perturbed(const StepBatch& batch, const torch::Tensor& delta, bool for_perturbation);
  SmoothOutput averaged(const StepBatch& batch);
  torch::Tensor shifted(const StepBatch& batch, const torch::Tensor& delta, bool for_perturbation);
  torch::Tensor gather(const StepBatch& batch, const torch::Tensor& own) const;

  SiarOptions options_;
  ModelWeights& weights_;
  const ModelSettings& settings_;
  uint64_t seed_;
  ProcessGroup* group_;
  int64_t skipped_ = 0;
  torch::Tensor average_;                  // of the encoder; not defined without a Bregman term
  std::vector<HeadModule> average_heads_;  // likewise
};

}  // namespace simile
