// SPDX-License-Identifier: Apache-2.0
// The encoder as training sees it: weights and their gradients as two flat tensors on one device, a
// forward pass that backward() flows through, and two doors to the host.
//
// Two engines stand behind it: fused_encoder.h, one autograd node over the CPU's kernels, and
// torch_encoder.h, the same function in plain ATen calls on any device; joined_encoder.h puts
// several of either side by side. Both draw the masks of
// simile/kernel/dropout.h, so that they compute the same numbers but for rounding: hidden states
// agree to about 1e-5, gradients to 1e-4. An averaged encoder gives one state a
// sequence in place of one a token; with the fused engine it has kernels of its own.
//
// Gradients of weights do not travel through autograd: backward() adds them to gradients() in
// place, and whoever uses them sets them back to zero. One thread at a time.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/joined_encoder.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

// What backward() does with the gradients of the weights: adding them to gradients() takes half of
// its time, which a search for a perturbation does not need.
enum class WeightGradients { kAdd, kSkip };

// Where an encoder's weights and their gradients lie: floats [P] each, on one device.
struct EncoderMemory {
  torch::Tensor parameters, gradients;
};

// Zeros. Errors: ErrorKind::kFailed when memory does not suffice.
EncoderMemory allocate_encoder_memory(const EncoderShape& shape, torch::Device device);

// Told that floats [begin, end) of gradients() have got all that a backward() adds to them, while
// it goes on with others; those it was not told of have when backward() returns.
using GradientsDone = std::function<void(int64_t begin, int64_t end)>;

class TrainableEncoder {
 public:
  virtual ~TrainableEncoder() = default;
  TrainableEncoder(const TrainableEncoder&) = delete;
  TrainableEncoder& operator=(const TrainableEncoder&) = delete;

  const EncoderShape& shape() const { return shape_; }
  torch::Device device() const { return memory_.parameters.device(); }

  // Floats [P] on the device, in the order of encoder_layout(); constants to autograd, to be
  // changed in place and not while a backward() is due.
  const torch::Tensor& parameters() const { return memory_.parameters; }
  const torch::Tensor& gradients() const { return memory_.gradients; }
  int64_t parameter_count() const { return parameters().numel(); }  // P

  // Hidden states [states, H] on the device that backward() flows through: of tokens, or, of an
  // averaged or joined encoder, of sequences. `perturbation` [tokens, perturbed_size()] is added to
  // the embedding output (smoothness-inducing regularisation) and receives its gradient through
  // autograd; it may be undefined. With kSkip that is all that backward() yields,
  // with the same bits, and without a perturbation the hidden states are constants. Several calls,
  // of both kinds, may precede backward(). Errors: kInput for a batch that does not fit the shape,
  // kRecipe for a dropout probability outside [0, 1).
  virtual torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                                const torch::Tensor& perturbation = {},
                                WeightGradients weight_gradients = WeightGradients::kAdd) = 0;

  // The same function of other weights, laid out and placed as parameters() are: an average of past
  // ones. The hidden states are constants.
  virtual torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                                     const EncoderDropout& dropout) = 0;

  // The weights [P] in the host's memory, as a copy; and from there.
  std::vector<float> to_host() const;
  void from_host(const float* weights);

  // The weights as they are for inference: for evaluation, neighbours, mining. To be made anew once
  // they have changed; it reads parameters() in place, on their device. `products` as
  // make_encoder() on the CPU, whose kernels serve both engines, and make_device_encoder().
  std::shared_ptr<const Encoder> inference(ProductType products = ProductType::kFloat) const;

  // The same on the CPU wherever the weights are: as a saved model will be served.
  std::shared_ptr<const Encoder> host_inference() const;

  // `done` is called by the thread of every backward() from now on, layer by layer; empty: nothing
  // is. While it is set a backward() flows through one forward() that adds gradients, as another's
  // would still add to what was told. An engine may have nothing to tell before it returns.
  virtual void watch_gradients(const GradientsDone& done) { (void)done; }

  // All weights were set from the host: from_host() says so, and to a part of a joined encoder the
  // whole.
  virtual void weights_set() {}

 protected:
  TrainableEncoder(const EncoderShape& shape, EncoderMemory memory);

 private:
  EncoderShape shape_;
  EncoderMemory memory_;
};

}  // namespace simile
