// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/trainable_encoder.h"

#include <ATen/Parallel.h>
#include <torch/utils.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/nn/engines.h"

namespace simile {

EncoderMemory allocate_encoder_memory(const EncoderShape& shape, torch::Device device) {
  keep_thread_count();
  const torch::Tensor parameters = torch::zeros({encoder_parameter_count(shape)}, device);
  return {parameters, torch::zeros_like(parameters)};
}

std::vector<float> copy_to_host(const torch::Tensor& tensor) {
  const torch::Tensor host = tensor.detach().cpu();
  const float* first = host.data_ptr<float>();
  return {first, first + host.numel()};
}

void copy_from_host(const float* values, const torch::Tensor& tensor) {
  torch::NoGradGuard guard;
  tensor.copy_(torch::from_blob(const_cast<float*>(values), tensor.sizes()));
}

TrainableEncoder::TrainableEncoder(const EncoderShape& shape, const EncoderMemory& memory)
    : shape_(shape),
      memory_(memory.parameters.defined() ? memory : allocate_encoder_memory(shape, torch::kCPU)) {}

namespace {

std::shared_ptr<const Encoder> on_host(const EncoderShape& shape, const torch::Tensor& weights,
                                       ProductType products) {
  auto encoder = make_encoder(shape, weights.data_ptr<float>(), products);
  const Encoder* const pointer = encoder.get();
  return {pointer, [weights, kept = std::move(encoder)](const Encoder*) mutable { kept.reset(); }};
}

class DeviceEncoder final : public Encoder {
 public:
  DeviceEncoder(const EncoderShape& shape, torch::Tensor weights, ProductType products)
      : shape_(shape), weights_(std::move(weights)), products_(products) {
    check_torch_products(products);
  }

  int64_t hidden_size() const override { return shape_.hidden; }
  int64_t vocabulary() const override { return shape_.vocabulary; }
  int64_t longest_sequence() const override { return shape_.longest_sequence(); }
  int64_t states(const PackedBatch& batch) const override {
    return shape_.averaged ? batch.size() : batch.tokens();
  }

  void operator()(const PackedBatch& batch, float* hidden) const override {
    within_device_memory("set a smaller batch_tokens (--batch-tokens)", [&] {
      torch::NoGradGuard guard;
      torch::from_blob(hidden, {states(batch), shape_.hidden})
          .copy_(encode_with_torch(shape_, weights_, batch, {}, {}, products_));
    });
  }

 private:
  EncoderShape shape_;
  torch::Tensor weights_;
  ProductType products_;
};

}  // namespace

std::shared_ptr<const Encoder> TrainableEncoder::inference(ProductType products) const {
  if (!device().is_cpu()) return make_device_encoder(shape_, parameters(), products);
  return on_host(shape_, parameters(), products);
}

std::shared_ptr<const Encoder> TrainableEncoder::host_inference() const {
  return on_host(shape_, parameters().cpu(), ProductType::kFloat);
}

std::shared_ptr<const Encoder> make_device_encoder(const EncoderShape& shape,
                                                   const torch::Tensor& weights,
                                                   ProductType products) {
  return std::make_shared<DeviceEncoder>(shape, weights, products);
}

void tell_device_memory(const c10::Error& error, const std::string& advice) {
  const std::string said = error.what_without_backtrace();
  throw_error(ErrorKind::kFailed, "the device's memory does not suffice: {}; {}",
              said.substr(0, said.find('\n')), advice);
}

// ATen's default is OMP_NUM_THREADS, or all processors, or half of them, by platform and build.
// at::set_num_threads() would do too, but starts a pool whose threads spin for some 20 ms.
void keep_thread_count() {
  const int threads = thread_count();
  at::get_num_threads();
  set_thread_count(threads);
  if (at::get_num_threads() != threads) at::set_num_threads(threads);  // ATen without OpenMP
}

}  // namespace simile
