// SPDX-License-Identifier: Apache-2.0
// The encoder as training sees it: weights and their gradients as two flat tensors on one device, a
// forward pass that backward() flows through, and two doors to the host; inference on any device
// behind the interface of simile/kernel/encoder.h.
//
// Two engines stand behind it (engines.h): one autograd node over the CPU's kernels, and the same
// function in plain ATen calls on any device; joined encoders have several of either side by side.
// Both draw the masks of simile/kernel/dropout.h, so that they compute the same numbers but for
// rounding: hidden states agree to about 1e-5, gradients to 1e-4. An averaged encoder gives one
// state a sequence in place of one a token; with the fused engine it has kernels of its own.
//
// Gradients of weights do not travel through autograd: backward() adds them to gradients() in
// place, and whoever uses them sets them back to zero. One thread at a time.
#pragma once

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"
#include "simile/kernel/sequence_encoders.h"

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

// Floats on any device in the host's memory, as a copy; and from there.
std::vector<float> copy_to_host(const torch::Tensor& tensor);
void copy_from_host(const float* values, const torch::Tensor& tensor);

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
  // autograd; it may be undefined. With kSkip that is all that backward() yields, with the same
  // bits, and without a perturbation the hidden states are constants. Several calls, of both kinds,
  // may precede backward(). Errors: kInput for a batch that does not fit the shape, kRecipe for a
  // dropout probability outside [0, 1).
  virtual torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                                const torch::Tensor& perturbation = {},
                                WeightGradients weight_gradients = WeightGradients::kAdd) = 0;

  // The same function of other weights, laid out and placed as parameters() are: an average of past
  // ones. The hidden states are constants.
  virtual torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                                     const EncoderDropout& dropout) = 0;

  // The weights [P] in the host's memory, as a copy; and from there.
  std::vector<float> to_host() const { return copy_to_host(parameters()); }
  void from_host(const float* weights) {
    copy_from_host(weights, parameters());
    weights_set();
  }

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
  // Memory that is not defined is allocated, on the CPU.
  TrainableEncoder(const EncoderShape& shape, const EncoderMemory& memory);

 private:
  EncoderShape shape_;
  EncoderMemory memory_;
};

// Inference by libtorch, of `weights` [P] in the order of encoder_layout(), floats on the device
// that computes, which stay as they are while it lives; of a joined encoder, its parts are encoded
// there and pooled on the CPU. `products` as make_torch_encoder(). One promise of Encoder is weaker
// here: the order of a product's sums may depend on what else is in the batch, so that a sequence's
// states in another company agree to rounding (some 1e-6 of their size in float) and not to the
// bit. Errors: kRecipe for kByte; the encoder's: kFailed when the device's memory does not suffice
// for a batch.
std::shared_ptr<const Encoder> make_device_encoder(const EncoderShape& shape,
                                                   const torch::Tensor& weights,
                                                   ProductType products = ProductType::kFloat);

// Throws kFailed: the memory that was asked for, in libtorch's words, and `advice`, a setting to
// change.
[[noreturn]] void tell_device_memory(const c10::Error& error, const std::string& advice);

// Runs `work`; libtorch's errors about memory become ours, all others stay.
template <typename Work>
auto within_device_memory(const std::string& advice, const Work& work) {
  try {
    return work();
  } catch (const c10::OutOfMemoryError& error) {
    tell_device_memory(error, advice);
  }
}

// Keeps thread_count() (simile/core/parallel.h) on this thread: ATen's first parallel work on a
// thread would set another. To be called before it.
void keep_thread_count();

}  // namespace simile
