// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/trainable_encoder.h"

#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "simile/kernel/encoder_forward.h"
#include "simile/nn/device.h"

namespace simile {

EncoderMemory allocate_encoder_memory(const EncoderShape& shape, torch::Device device) {
  keep_thread_count();
  const torch::Tensor parameters = torch::zeros({encoder_parameter_count(shape)}, device);
  return {parameters, torch::zeros_like(parameters)};
}

TrainableEncoder::TrainableEncoder(const EncoderShape& shape, EncoderMemory memory)
    : shape_(shape), memory_(std::move(memory)) {}

std::vector<float> TrainableEncoder::to_host() const {
  const torch::Tensor host = parameters().cpu();
  const float* first = host.data_ptr<float>();
  return {first, first + host.numel()};
}

void TrainableEncoder::from_host(const float* weights) {
  parameters().copy_(torch::from_blob(const_cast<float*>(weights), parameters().sizes()));
  weights_set();
}

namespace {

std::shared_ptr<const Encoder> on_host(const EncoderShape& shape, const torch::Tensor& weights,
                                       ProductType products) {
  auto encoder = make_encoder(shape, weights.data_ptr<float>(), products);
  const Encoder* const pointer = encoder.get();
  return {pointer, [weights, kept = std::move(encoder)](const Encoder*) mutable { kept.reset(); }};
}

}  // namespace

std::shared_ptr<const Encoder> TrainableEncoder::inference(ProductType products) const {
  if (!device().is_cpu()) return make_device_encoder(shape_, parameters(), products);
  return on_host(shape_, parameters(), products);
}

std::shared_ptr<const Encoder> TrainableEncoder::host_inference() const {
  return on_host(shape_, parameters().cpu(), ProductType::kFloat);
}

}  // namespace simile
