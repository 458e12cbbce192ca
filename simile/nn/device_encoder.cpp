// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/device_encoder.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/kernel/joined_encoder.h"
#include "simile/nn/device_memory.h"
#include "simile/nn/torch_encoder.h"

namespace simile {
namespace {

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

}  // namespace simile
