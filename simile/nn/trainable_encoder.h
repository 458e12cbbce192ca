// SPDX-License-Identifier: Apache-2.0
// The encoder as training sees it: weights and their gradients as two flat tensors on one device, a
// differentiable forward pass, and two ways to the host; also inference on any device behind the
// interface of simile/kernel/encoder.h.
//
// Two engines implement it (engines.h): one autograd node over the CPU's kernels, and the same
// function in plain ATen calls on any device. Both draw the masks of simile/kernel/dropout.h, so
// that they compute the same numbers within
// rounding: hidden states agree to about 1e-5, gradients to 1e-4. An averaged encoder gives one
// state per sequence instead of one per token; with the fused engine it has kernels of its own.
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

#include "simile/core/check.h"
#include "simile/kernel/dropout.h"
#include "simile/kernel/encoder.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

// Whether backward() adds the gradients of the weights to gradients(). That takes half of its time,
// and a search for a perturbation does not need them.
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

// Called during backward() when floats [begin, end) of gradients() are complete, while it continues
// with others. All others are complete when backward() returns.
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
  // averaged encoder, of sequences. `perturbation` [tokens, H] is added to the embedding output
  // (smoothness-inducing regularisation) and receives its gradient through autograd; it may be
  // undefined. With kSkip that is all that backward() yields, with the same
  // bits, and without a perturbation the hidden states are constants. Several calls, of both kinds,
  // may precede backward(). Errors: kInput for a batch that does not fit the shape, kRecipe for a
  // dropout probability outside [0, 1).
  virtual torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                                const torch::Tensor& perturbation = {},
                                WeightGradients weight_gradients = WeightGradients::kAdd) = 0;

  // The same of other weights, laid out as parameters(): an average. Hidden states are constants.
  virtual torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                                     const EncoderDropout& dropout) = 0;

  // The weights [P] in the host's memory, as a copy; and from there.
  std::vector<float> to_host() const { return copy_to_host(parameters()); }
  void from_host(const float* weights) {
    copy_from_host(weights, parameters());
    weights_set();
  }

  // The weights as they are for inference: for evaluation, neighbours, mining. Make a new one after
  // they have changed; it reads parameters() in place, on their device. `products` as
  // make_encoder() on the CPU, whose kernels serve both engines, and make_device_encoder().
  std::shared_ptr<const Encoder> inference(ProductType products = ProductType::kFloat) const;

  // The same on the CPU wherever the weights are: as a saved model will be served.
  std::shared_ptr<const Encoder> host_inference() const;

  // `done` is called by the thread of every backward() from now on, layer by layer; empty: nothing
  // is. While it is set, a backward() must go through only one forward() that adds gradients;
  // another one would add to gradients reported as complete. An engine may report nothing before it
  // returns.
  virtual void watch_gradients(const GradientsDone& done) { (void)done; }

  // All weights were set from the host, by from_host().
  virtual void weights_set() {}

 protected:
  // Memory that is not defined is allocated, on the CPU.
  TrainableEncoder(const EncoderShape& shape, const EncoderMemory& memory);

 private:
  EncoderShape shape_;
  EncoderMemory memory_;
};

// Inference by libtorch, of `weights` [P] in the order of encoder_layout(), floats on the device
// that computes, which stay as they are while it lives. `products` as make_torch_encoder(). One
// promise of Encoder is weaker here: the order of a product's sums may depend on the rest of the
// batch, so a sequence's states in different batches agree within rounding (some 1e-6 of their size
// in float) and not to the bit. Errors: kRecipe for kByte; the encoder's: kFailed for a batch beyond
// the device's memory.
std::shared_ptr<const Encoder> make_device_encoder(const EncoderShape& shape,
                                                   const torch::Tensor& weights,
                                                   ProductType products = ProductType::kFloat);

// Throws kFailed with libtorch's words on the requested memory and `advice`, a setting to change.
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

// The same, and all other errors of libtorch become kFailed with its words.
template <typename Work>
auto translate_torch_errors(const std::string& advice, const Work& work) {
  try {
    return within_device_memory(advice, work);
  } catch (const c10::Error& error) {
    throw_error(ErrorKind::kFailed, "torch: {}", error.what_without_backtrace());
  }
}

// Keeps thread_count() (simile/core/parallel.h) on this thread: ATen's first parallel work on a
// thread would set another. To be called before it.
void keep_thread_count();

}  // namespace simile
