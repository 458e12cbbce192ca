// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/trainable_encoder.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "simile/core/threads.h"
#include "simile/kernel/encoder_forward.h"

namespace simile {
namespace {

// ATen's first parallel work would set OpenMP's threads to a default of its own, which is 1 without
// MKL: it is told ours before it does any.
const EncoderShape& keep_thread_count(const EncoderShape& shape) {
  at::set_num_threads(thread_count());
  return shape;
}

}  // namespace

TrainableEncoder::TrainableEncoder(const EncoderShape& shape, torch::Device device)
    : shape_(keep_thread_count(shape)),
      parameters_(torch::zeros({encoder_parameter_count(shape)}, device)),
      gradients_(torch::zeros_like(parameters_)) {}

std::vector<float> TrainableEncoder::to_host() const {
  const torch::Tensor host = parameters_.cpu();
  const float* first = host.data_ptr<float>();
  return {first, first + host.numel()};
}

void TrainableEncoder::from_host(const float* weights) {
  parameters_.copy_(torch::from_blob(const_cast<float*>(weights), parameters_.sizes()));
  weights_set();
}

std::shared_ptr<const Encoder> TrainableEncoder::inference() const {
  const torch::Tensor host = parameters_.cpu();  // the same memory on the CPU
  auto encoder = make_encoder(shape_, host.data_ptr<float>());
  const Encoder* const pointer = encoder.get();
  return {pointer, [host, kept = std::move(encoder)](const Encoder*) mutable { kept.reset(); }};
}

}  // namespace simile
