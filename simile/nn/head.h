// SPDX-License-Identifier: Apache-2.0
// From hidden states to embeddings and from embeddings to logits, as tensors that gradients flow
// through. The formulas of heads are in simile/model/head_settings.h; simile/encode/head.h and
// pooling.h compute the same without torch.
//
// For floats on the CPU every sum has an order that the shapes decide, so values and gradients do
// not depend on the number of threads. Differentiable once. One thread at a time.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "simile/model/head_settings.h"
#include "simile/model/model_settings.h"
#include "simile/nn/trainable_encoder.h"

namespace simile {

// `hidden` [tokens, H] and `offsets` [B + 1] to embeddings [B, modes * H], as
// simile/kernel/pooling.h computes them with all tokens counted. An empty sequence gives zeros. Not
// normalised. Without modes `hidden` has a row a sequence already, which is returned.
torch::Tensor pool_tokens(const torch::Tensor& hidden, const std::vector<int32_t>& offsets,
                          const Pooling& pooling);

// Masks on the input of every linear layer: a pure function of key, step, layer, row and column,
// see simile/kernel/dropout.h. Kept numbers are scaled so that the expected value stays.
struct HeadDropout {
  double probability = 0;  // HeadSettings::dropout in training, 0 otherwise
  uint64_t key = 0;        // of the random stream, stream_key(seed, name); differs between heads
  uint64_t step = 0;       // other masks each step
};

class HeadModule {
 public:
  // Weights and gradients are zero at first; initialise_head_weights() gives a start. `options` are
  // the device and the type, double in tests of gradients. Errors: see check_head().
  HeadModule(const HeadSettings& settings, int64_t H,
             const torch::TensorOptions& options = torch::kFloat);

  const HeadSettings& settings() const { return settings_; }
  int64_t embedding_size() const { return H_; }  // H

  // All weights as one leaf [parameters] in the order of head_layout(), and their gradients, which
  // each backward() adds to and whoever uses them sets back to zero.
  const torch::Tensor& parameters() const { return parameters_; }
  int64_t parameter_count() const { return parameters_.numel(); }

  // Makes the layers but the last those of `owner`, as HeadSettings::shares says: logits read them
  // there, gradients are added there, and to_host() has them. Their part of parameters() lies idle.
  void share_layers(const HeadModule& owner);

  // Copies the weights to the host's memory, and back. For modules of floats.
  std::vector<float> to_host() const { return copy_to_host(weights().detach()); }
  void from_host(const float* weights) { copy_from_host(weights, parameters_); }

  // Logits [m, k] of embeddings u [m, H] before Normalize and, for input pair, v [m, H].
  // Errors (kInput): v missing, not wanted or of another shape; rows that are not H long.
  torch::Tensor logits(const torch::Tensor& u, const torch::Tensor& v = {},
                       const HeadDropout& dropout = {}) const;

  // The logit [m, n] of every u [m, H] with every v [n, H]: for losses over all pairs of a batch,
  // such as mnrl with a head. The same bits as logits() of the m n pairs, u_0 v_0, u_0 v_1, ... ,
  // but only about a thousand pairs are in memory at a time: backward computes them again.
  // Errors (kRecipe): a head whose input is not pair or that has several logits; (kInput) as above.
  torch::Tensor cross_logits(const torch::Tensor& u, const torch::Tensor& v,
                             const HeadDropout& dropout = {}) const;

 private:
  torch::Tensor weights() const;  // as parameters(), with the shared layers

  HeadSettings settings_;
  int64_t H_;
  torch::Tensor parameters_;
  torch::Tensor inner_;  // parameters() of the head that shares its layers, or none
};

// Lets each head with `shares` share the layers of the head of that name. Errors: see check_heads().
void share_layers(std::vector<HeadModule>& heads);

}  // namespace simile
