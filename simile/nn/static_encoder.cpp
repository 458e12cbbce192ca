// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/static_encoder.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <utility>

#include "simile/kernel/static_encoder.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

// What one forward call keeps for its backward call.
struct StaticCall {
  PackedBatch batch;
  std::vector<float> shares;  // of its tokens
  std::shared_ptr<const std::vector<uint8_t>> trained;
  torch::Tensor gradients;  // [V * H]
};

torch::Tensor average_states(const EncoderShape& shape, const torch::Tensor& parameters,
                             const PackedBatch& batch) {
  const torch::Tensor states = torch::empty({batch.size(), shape.hidden});
  const StaticTable table{parameters.data_ptr<float>(), nullptr, nullptr, nullptr};
  StaticEncoder(shape, table)(batch, states.data_ptr<float>());
  return states;
}

class StaticFunction : public torch::autograd::Function<StaticFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& weights, const EncoderShape& shape,
                               const std::shared_ptr<StaticCall>& call) {
    context->saved_data["call"] = torch::IValue::make_capsule(
        c10::intrusive_ptr<torch::CustomClassHolder>(c10::make_intrusive<Holder>(call)));
    return average_states(shape, weights, call->batch);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto holder = context->saved_data["call"].toCapsule();
    const StaticCall& call = *static_cast<Holder*>(holder.get())->call;
    const torch::Tensor states = outputs[0].contiguous();
    add_row_gradients(call.batch, call.shares, states.data_ptr<float>(), states.size(1),
                      *call.trained, call.gradients.data_ptr<float>());
    return {torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<StaticCall> kept) : call(std::move(kept)) {}
    std::shared_ptr<StaticCall> call;
  };
};

torch::Tensor drop_states(const torch::Tensor& states, const EncoderDropout& dropout) {
  const DropoutMask mask(dropout, DropoutPlace::kEmbedding, 0);
  if (!mask.active() || states.size(0) == 0) return states;
  const int64_t row = mask_bytes(states.size(1));
  std::vector<uint8_t> keep(static_cast<size_t>(states.size(0) * row));
  mask.fill(dropout.origin.sequence * row, static_cast<int64_t>(keep.size()), keep.data());
  const torch::Tensor ones = torch::ones_like(states), factors = torch::empty_like(states);
  vector_kernels().apply_mask(states.size(0), states.size(1), ones.data_ptr<float>(), keep.data(),
                              mask.scale(), factors.data_ptr<float>());
  return states * factors;
}

}  // namespace

torch::Tensor weighted_mean(const torch::Tensor& rows, const PackedBatch& batch,
                            const std::vector<float>& shares) {
  std::vector<int64_t> sequences(batch.ids.size());
  for (int64_t i = 0; i < batch.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    std::fill(sequences.begin() + batch.offsets[at], sequences.begin() + batch.offsets[at + 1], i);
  }
  const torch::Tensor weights = torch::tensor(shares).to(rows.options()).unsqueeze(1);
  const torch::Tensor where = torch::tensor(sequences, torch::kInt64).to(rows.device());
  return torch::zeros({batch.size(), rows.size(1)}, rows.options())
      .index_add(0, where, rows * weights);
}

TrainableStaticEncoder::TrainableStaticEncoder(const EncoderShape& shape)
    : TrainableStaticEncoder(shape, allocate_encoder_memory(shape, torch::kCPU)) {}

TrainableStaticEncoder::TrainableStaticEncoder(const EncoderShape& shape,
                                               const EncoderMemory& memory)
    : TrainableEncoder(shape, memory),
      leaf_(parameters().detach().set_requires_grad(true)),
      trained_(std::make_shared<const std::vector<uint8_t>>(shape.vocabulary, uint8_t{1})) {}

void TrainableStaticEncoder::weights_set() {
  trained_ = std::make_shared<const std::vector<uint8_t>>(
      trained_rows(parameters().data_ptr<float>(), shape().vocabulary, shape().hidden));
}

torch::Tensor TrainableStaticEncoder::forward(const PackedBatch& batch,
                                              const EncoderDropout& dropout,
                                              const torch::Tensor& perturbation,
                                              WeightGradients weight_gradients) {
  torch::Tensor states;
  std::vector<float> shares = TokenWeights(shape()).of_batch(batch);
  const torch::Tensor shift =
      perturbation.defined() ? weighted_mean(perturbation, batch, shares) : torch::Tensor();
  if (weight_gradients == WeightGradients::kAdd) {
    const auto call =
        std::make_shared<StaticCall>(StaticCall{batch, std::move(shares), trained_, gradients()});
    states = StaticFunction::apply(leaf_, shape(), call);
  } else {
    states = average_states(shape(), parameters(), batch);
  }
  return drop_states(shift.defined() ? states + shift : states, dropout);
}

torch::Tensor TrainableStaticEncoder::forward_with(const torch::Tensor& parameters,
                                                   const PackedBatch& batch,
                                                   const EncoderDropout& dropout) {
  torch::NoGradGuard guard;
  return drop_states(average_states(shape(), parameters, batch), dropout);
}

}  // namespace simile
