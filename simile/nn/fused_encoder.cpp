// SPDX-License-Identifier: Apache-2.0
#include <torch/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "simile/kernel/encoder_training.h"
#include "simile/kernel/sequence_encoders.h"
#include "simile/kernel/vector_kernels.h"
#include "simile/nn/engines.h"
#include "simile/nn/torch_layers.h"

namespace simile {
namespace {

using TapePool = std::vector<std::unique_ptr<EncoderTape>>;

// The values that one forward call keeps for its backward call.
struct EncoderCall : torch::CustomClassHolder {
  EncoderShape shape;
  PackedBatch batch;
  EncoderDropout dropout;
  bool has_perturbation = false;
  WeightGradients weight_gradients = WeightGradients::kAdd;
  torch::Tensor weights, gradients;
  std::unique_ptr<EncoderTape> tape;
  std::shared_ptr<TapePool> pool;
  std::shared_ptr<const LayerDone> layer_done;

  ~EncoderCall() override { pool->push_back(std::move(tape)); }
};

// Autograd keeps a call from forward to backward.
void keep_call(torch::autograd::AutogradContext* context,
               const c10::intrusive_ptr<torch::CustomClassHolder>& call) {
  context->saved_data["call"] = torch::IValue::make_capsule(call);
}

class EncoderFunction : public torch::autograd::Function<EncoderFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& weights,
                               const c10::optional<torch::Tensor>& perturbation,
                               const c10::intrusive_ptr<EncoderCall>& call) {
    keep_call(context, call);
    const torch::Tensor hidden = torch::empty({call->batch.tokens(), call->shape.hidden});
    const torch::Tensor shift = perturbation ? perturbation->contiguous() : torch::Tensor();
    encoder_forward_training(call->shape, encoder_weights(call->shape, weights.data_ptr<float>()),
                             call->batch, call->dropout,
                             shift.defined() ? shift.data_ptr<float>() : nullptr, *call->tape,
                             hidden.data_ptr<float>());
    return hidden;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto kept = context->saved_data["call"].toCapsule();
    EncoderCall& call = *static_cast<EncoderCall*>(kept.get());
    const torch::Tensor grad = outputs[0].contiguous();
    const bool wants_perturbation = call.has_perturbation && context->needs_input_grad(1);
    const torch::Tensor shift = wants_perturbation ? torch::empty_like(grad) : torch::Tensor();
    const EncoderGradients gradients =
        encoder_gradients(call.shape, call.gradients.data_ptr<float>());
    const bool adds = call.weight_gradients == WeightGradients::kAdd;
    encoder_backward(call.shape, encoder_weights(call.shape, call.weights.data_ptr<float>()),
                     call.batch, call.dropout, *call.tape, grad.data_ptr<float>(),
                     adds ? &gradients : nullptr,
                     wants_perturbation ? shift.data_ptr<float>() : nullptr, *call.layer_done);
    return {torch::Tensor(), shift, torch::Tensor()};
  }
};

// Begin and end of the floats of each layer; nothing of one that has another's.
std::vector<std::pair<int64_t, int64_t>> find_layer_floats(const EncoderShape& shape) {
  std::vector<std::pair<int64_t, int64_t>> floats(static_cast<size_t>(shape.layers));
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    if (slot.layer < 0) continue;
    auto& [begin, end] = floats[slot.layer];
    if (begin == end) begin = slot.offset;
    end = slot.offset + slot.size;
  }
  return floats;
}

class FusedEncoder final : public TrainableEncoder {
 public:
  FusedEncoder(const EncoderShape& shape, const EncoderMemory& memory, ProductType products)
      : TrainableEncoder(shape, memory),
        products_(products),
        leaf_(parameters().detach().set_requires_grad(true)),
        free_tapes_(std::make_shared<TapePool>()),
        layer_floats_(find_layer_floats(shape)),
        layer_done_(std::make_shared<LayerDone>()) {}

  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation,
                        WeightGradients weight_gradients) override {
    const auto call = c10::make_intrusive<EncoderCall>();
    call->shape = shape();
    call->batch = batch;
    call->dropout = dropout;
    call->weights = parameters();
    call->gradients = gradients();
    call->pool = free_tapes_;
    call->layer_done = layer_done_;
    call->tape = take_tape();
    call->has_perturbation = perturbation.defined();
    call->weight_gradients = weight_gradients;
    // Autograd does not take undefined tensors as inputs.
    c10::optional<torch::Tensor> shift;
    if (perturbation.defined()) shift = perturbation;
    const bool adds = weight_gradients == WeightGradients::kAdd;
    return EncoderFunction::apply(adds ? leaf_ : call->weights, shift, call);
  }

  torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                             const EncoderDropout& dropout) override {
    std::unique_ptr<EncoderTape> tape = take_tape();
    const torch::Tensor hidden = torch::empty({batch.tokens(), shape().hidden});
    encoder_forward_training(shape(), encoder_weights(shape(), parameters.data_ptr<float>()), batch,
                             dropout, nullptr, *tape, hidden.data_ptr<float>());
    free_tapes_->push_back(std::move(tape));
    return hidden;
  }

  void watch_gradients(const GradientsDone& done) override {
    *layer_done_ = nullptr;
    if (!done) return;
    *layer_done_ = [floats = layer_floats_, done](int64_t layer) {
      const auto [begin, end] = floats[layer];
      if (begin < end) done(begin, end);
    };
  }

 private:
  std::unique_ptr<EncoderTape> take_tape() {
    if (free_tapes_->empty()) return std::make_unique<EncoderTape>(products_);
    std::unique_ptr<EncoderTape> tape = std::move(free_tapes_->back());
    free_tapes_->pop_back();
    return tape;
  }

  ProductType products_;
  torch::Tensor leaf_;  // parameters() as the leaf that ties the node into the graph
  std::shared_ptr<TapePool> free_tapes_;                   // memory to reuse
  std::vector<std::pair<int64_t, int64_t>> layer_floats_;  // of gradients(), begin and end
  std::shared_ptr<LayerDone> layer_done_;  // of the backward calls of all forward calls
};

// The values that one forward call keeps for its backward call.
struct StaticCall : torch::CustomClassHolder {
  StaticCall(PackedBatch b, std::shared_ptr<const std::vector<uint8_t>> t, torch::Tensor g)
      : batch(std::move(b)), trained(std::move(t)), gradients(std::move(g)) {}

  PackedBatch batch;
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
                               const c10::intrusive_ptr<StaticCall>& call) {
    keep_call(context, call);
    return average_states(shape, weights, call->batch);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& outputs) {
    const auto kept = context->saved_data["call"].toCapsule();
    const StaticCall& call = *static_cast<StaticCall*>(kept.get());
    const torch::Tensor states = outputs[0].contiguous();
    add_row_gradients(call.batch, states.data_ptr<float>(), states.size(1), *call.trained,
                      call.gradients.data_ptr<float>());
    return {torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

torch::Tensor drop_states(const torch::Tensor& states, const EncoderDropout& dropout) {
  const DropoutMask mask(dropout, DropoutPlace::kEmbedding, 0);
  if (!mask.active() || states.size(0) == 0) return states;
  const int64_t row = mask_bytes(states.size(1));
  std::vector<uint8_t> keep(states.size(0) * row);
  mask.fill(dropout.origin.sequence * row, static_cast<int64_t>(keep.size()), keep.data());
  const torch::Tensor ones = torch::ones_like(states), factors = torch::empty_like(states);
  vector_kernels().apply_mask(states.size(0), states.size(1), ones.data_ptr<float>(), keep.data(),
                              mask.scale(), factors.data_ptr<float>());
  return states * factors;
}

class TrainableStaticEncoder final : public TrainableEncoder {
 public:
  TrainableStaticEncoder(const EncoderShape& shape, const EncoderMemory& memory)
      : TrainableEncoder(shape, memory),
        leaf_(parameters().detach().set_requires_grad(true)),
        trained_(std::make_shared<const std::vector<uint8_t>>(shape.vocabulary, uint8_t{1})) {}

  torch::Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                        const torch::Tensor& perturbation,
                        WeightGradients weight_gradients) override {
    torch::Tensor states;
    if (weight_gradients == WeightGradients::kAdd) {
      states = StaticFunction::apply(leaf_, shape(),
                                     c10::make_intrusive<StaticCall>(batch, trained_, gradients()));
    } else {
      states = average_states(shape(), parameters(), batch);
    }
    if (perturbation.defined()) states = states + sequence_means(perturbation, batch);
    return drop_states(states, dropout);
  }

  torch::Tensor forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                             const EncoderDropout& dropout) override {
    torch::NoGradGuard guard;
    return drop_states(average_states(shape(), parameters, batch), dropout);
  }

  void weights_set() override {
    trained_ = std::make_shared<const std::vector<uint8_t>>(
        trained_rows(parameters().data_ptr<float>(), shape().vocabulary, shape().hidden));
  }

 private:
  torch::Tensor leaf_;  // parameters() as the leaf that ties the node into the graph
  std::shared_ptr<const std::vector<uint8_t>> trained_;  // [V]
};

}  // namespace

std::unique_ptr<TrainableEncoder> make_fused_encoder(const EncoderShape& shape,
                                                     const EncoderMemory& memory,
                                                     ProductType products) {
  if (shape.averaged) return std::make_unique<TrainableStaticEncoder>(shape, memory);
  return std::make_unique<FusedEncoder>(shape, memory, products);
}

}  // namespace simile
