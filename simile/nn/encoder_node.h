// SPDX-License-Identifier: Apache-2.0
// The trainable encoder on the CPU: one autograd node over the fused, packed kernels.
//
// Its weights and their gradients are two flat arrays in the order of encoder_layout(). Gradients
// do not travel through autograd, which would allocate and add the whole embedding table at each
// step: the node's backward adds them to gradients() directly, and whoever uses them sets them back
// to zero.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/encoder_training.h"
#include "simile/kernel/packed.h"

namespace simile {

// What backward() does with the gradients of the weights: adding them to gradients() takes half of
// its time, which a search for a perturbation does not need.
enum class WeightGradients { kAdd, kSkip };

class EncoderNode {
 public:
  // Weights and gradients are zero at first. Errors: ErrorKind::kFailed when memory does not
  // suffice.
  explicit EncoderNode(const EncoderShape& shape);
  ~EncoderNode();

  const EncoderShape& shape() const { return shape_; }
  int64_t parameter_count() const { return weights_.numel(); }
  float* weights() { return weights_.data_ptr<float>(); }
  float* gradients() { return gradients_.data_ptr<float>(); }
  EncoderWeights weight_pointers() const;

  // Hidden states [tokens, H] that backward() flows through. `perturbation` [tokens, H] is added to
  // the embedding output (smoothness-inducing regularisation) and receives its gradient through
  // autograd; it may be undefined. With kSkip that is all that backward() yields, with the same
  // bits, and without a perturbation the hidden states are constants. Several calls, of both kinds,
  // may precede backward(). One thread at a time.
  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation = {},
                        WeightGradients weight_gradients = WeightGradients::kAdd);

  // The same function of other weights [parameter_count()], laid out as weights() are and owned by
  // the caller: an average of past ones. The hidden states are constants.
  torch::Tensor forward_with(const float* weights, const PackedBatch& batch,
                             const EncoderDropout& dropout);

 private:
  EncoderShape shape_;
  torch::Tensor weights_;    // [parameters], the leaf that ties the node into the graph
  torch::Tensor gradients_;  // [parameters]
  std::shared_ptr<std::vector<std::unique_ptr<EncoderTape>>> free_tapes_;  // memory to reuse
};

}  // namespace simile
