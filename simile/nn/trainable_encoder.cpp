// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/trainable_encoder.h"

#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/nn/engines.h"
#include "simile/nn/head.h"

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
  if (!shape.is_joined()) return std::make_shared<DeviceEncoder>(shape, weights, products);
  const std::vector<int64_t> offsets = part_offsets(shape);
  std::vector<std::shared_ptr<const Encoder>> parts;
  for (size_t i = 0; i < shape.parts.size(); ++i) {
    parts.push_back(make_device_encoder(shape.parts[i].shape,
                                        weights.narrow(0, offsets[i], offsets[i + 1] - offsets[i]),
                                        products));
  }
  return std::make_shared<JoinedEncoder>(shape, std::move(parts));
}

void tell_device_memory(const c10::Error& error, const std::string& advice) {
  const std::string said = error.what_without_backtrace();
  throw_error(ErrorKind::kFailed, "the device's memory does not suffice: {}; {}",
              said.substr(0, said.find('\n')), advice);
}

// ATen's default is OMP_NUM_THREADS, or all processors, or half of them, by platform and build.
// at::set_num_threads() would do too, but starts a pool for mobile kernels, whose threads spin for
// some 20 ms each.
void keep_thread_count() {
  const int threads = thread_count();
  at::get_num_threads();
  set_thread_count(threads);
  if (at::get_num_threads() != threads) at::set_num_threads(threads);  // ATen without OpenMP
}

namespace {

class TrainableJoinedEncoder final : public TrainableEncoder {
 public:
  TrainableJoinedEncoder(const EncoderShape& shape, torch::Device device, const MakePart& make)
      : TrainableEncoder(shape, allocate_encoder_memory(shape, device)),
        offsets_(part_offsets(shape)) {
    for (size_t i = 0; i < shape.parts.size(); ++i) {
      const int64_t size = offsets_[i + 1] - offsets_[i];
      parts_.push_back(make(shape.parts[i].shape, {parameters().narrow(0, offsets_[i], size),
                                                   gradients().narrow(0, offsets_[i], size)}));
    }
  }

  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation,
                        WeightGradients weight_gradients) override {
    const std::vector<torch::Tensor> shifts = split_perturbation(perturbation, batch);
    return join(batch, [&](size_t i, const PackedBatch& seen) {
      return parts_[i]->forward(seen, dropout_of_part(dropout, i), shifts[i], weight_gradients);
    });
  }

  torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                             const EncoderDropout& dropout) override {
    torch::NoGradGuard guard;
    return join(batch, [&](size_t i, const PackedBatch& seen) {
      const torch::Tensor own = parameters.narrow(0, offsets_[i], offsets_[i + 1] - offsets_[i]);
      return parts_[i]->forward_with(own, seen, dropout_of_part(dropout, i));
    });
  }

  void watch_gradients(const GradientsDone& done) override {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const auto of_part = [done, first = offsets_[i]](int64_t begin, int64_t end) {
        done(first + begin, first + end);
      };
      parts_[i]->watch_gradients(done ? GradientsDone(of_part) : GradientsDone());
    }
  }

  void weights_set() override {
    for (const auto& part : parts_) part->weights_set();
  }

 private:
  // Perturbations by part; not defined for one that is not perturbed.
  std::vector<torch::Tensor> split_perturbation(const torch::Tensor& perturbation,
                                                const PackedBatch& batch) const {
    std::vector<torch::Tensor> split(parts_.size());
    if (!perturbation.defined()) return split;
    int64_t column = 0;
    for (const size_t i : perturbed_parts(shape())) {
      const EncoderPart& part = shape().parts[i];
      const torch::Tensor tokens =
          torch::tensor(part_tokens(part, batch), torch::kInt32).to(perturbation.device());
      split[i] = perturbation.narrow(1, column, part.shape.hidden).index_select(0, tokens);
      column += part.shape.hidden;
    }
    return split;
  }

  // The columns of all parts; encode(i, seen) gives part i's states for the batch as it sees it.
  template <typename Encode>
  torch::Tensor join(const PackedBatch& batch, const Encode& encode) const {
    std::vector<torch::Tensor> columns;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const EncoderPart& part = shape().parts[i];
      const PackedBatch seen = part_batch(part, batch);
      Pooling pooling;
      pooling.modes = part.pooling;
      const torch::Tensor vectors = pool_tokens(encode(i, seen), seen.offsets, pooling);
      const torch::Tensor lengths = vectors.norm(2, {1}, true);
      const torch::Tensor divisors = torch::where(lengths > 0, lengths, torch::ones_like(lengths));
      columns.push_back(vectors / divisors * part.weight);
    }
    return torch::cat(columns, 1);
  }

  std::vector<int64_t> offsets_;  // part_offsets()
  std::vector<std::unique_ptr<TrainableEncoder>> parts_;
};

}  // namespace

std::unique_ptr<TrainableEncoder> make_joined_encoder(const EncoderShape& shape,
                                                      torch::Device device, const MakePart& make) {
  return std::make_unique<TrainableJoinedEncoder>(shape, device, make);
}

}  // namespace simile
