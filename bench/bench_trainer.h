// SPDX-License-Identifier: Apache-2.0
// The training step that is measured.
#pragma once

#include <memory>
#include <string>

#include "bench/workload.h"
#include "simile/loss/loss.h"
#include "simile/model/model_folder.h"
#include "simile/nn/engines.h"
#include "simile/train/flat_optimizer.h"

namespace simile::bench {

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

// Sequences are pairs: the first half left, the second right.
class Trainer {
 public:
  Trainer(const std::string& model_folder, double dropout, ProductType products);

  // The weights of the folder, and an optimiser that has seen nothing.
  void start_again(double dropout);

  // One training step; returns the loss. Errors (kFailed): loss or gradient are not finite.
  double step(const Workload& sequences, double learning_rate, Phases& phases);

  // |g - g'| / |g'| of the gradient g of the fused engine and g' of plain ATen calls in fp32,
  // without dropout. Errors (kFailed): it is above 1e-4, in bf16 1e-2.
  double check_gradient(const Workload& sequences);

  const EncoderShape& shape() const { return node_->shape(); }

 private:
  ModelFolder folder_;
  ProductType products_;
  std::unique_ptr<TrainableEncoder> node_;
  Loss loss_;
  EncoderDropout dropout_;
  std::unique_ptr<FlatOptimizer> optimizer_;
};

}  // namespace simile::bench
