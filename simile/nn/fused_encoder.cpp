// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/fused_encoder.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <utility>
#include <vector>

namespace simile {
namespace {

using TapePool = std::vector<std::unique_ptr<EncoderTape>>;

// What one forward call keeps for its backward call.
struct EncoderCall {
  EncoderShape shape;
  PackedBatch batch;
  EncoderDropout dropout;
  bool has_perturbation = false;
  WeightGradients weight_gradients = WeightGradients::kAdd;
  torch::Tensor weights, gradients;
  std::unique_ptr<EncoderTape> tape;
  std::shared_ptr<TapePool> pool;
  std::shared_ptr<const LayerDone> layer_done;

  ~EncoderCall() { pool->push_back(std::move(tape)); }
};

class EncoderFunction : public torch::autograd::Function<EncoderFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& weights,
                               const c10::optional<torch::Tensor>& perturbation,
                               const std::shared_ptr<EncoderCall>& call) {
    context->saved_data["call"] = torch::IValue::make_capsule(
        c10::intrusive_ptr<torch::CustomClassHolder>(c10::make_intrusive<Holder>(call)));
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
    const auto holder = context->saved_data["call"].toCapsule();
    EncoderCall& call = *static_cast<Holder*>(holder.get())->call;
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

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<EncoderCall> kept) : call(std::move(kept)) {}
    std::shared_ptr<EncoderCall> call;
  };
};

// Begin and end of the floats of each layer; nothing of one that has another's.
std::vector<std::pair<int64_t, int64_t>> find_layer_floats(const EncoderShape& shape) {
  std::vector<std::pair<int64_t, int64_t>> floats(static_cast<size_t>(shape.layers));
  for (const ParameterSlot& slot : encoder_layout(shape)) {
    if (slot.layer < 0) continue;
    auto& [begin, end] = floats[static_cast<size_t>(slot.layer)];
    if (begin == end) begin = slot.offset;
    end = slot.offset + slot.size;
  }
  return floats;
}

}  // namespace

FusedEncoder::FusedEncoder(const EncoderShape& shape)
    : FusedEncoder(shape, allocate_encoder_memory(shape, torch::kCPU)) {}

FusedEncoder::FusedEncoder(const EncoderShape& shape, const EncoderMemory& memory,
                           ProductType products)
    : TrainableEncoder(shape, memory),
      products_(products),
      leaf_(parameters().detach().set_requires_grad(true)),
      free_tapes_(std::make_shared<TapePool>()),
      layer_floats_(find_layer_floats(shape)),
      layer_done_(std::make_shared<LayerDone>()) {}

FusedEncoder::~FusedEncoder() = default;

std::unique_ptr<EncoderTape> FusedEncoder::take_tape() {
  if (free_tapes_->empty()) return std::make_unique<EncoderTape>(products_);
  std::unique_ptr<EncoderTape> tape = std::move(free_tapes_->back());
  free_tapes_->pop_back();
  return tape;
}

torch::Tensor FusedEncoder::forward(const PackedBatch& batch, const EncoderDropout& dropout,
                                    const torch::Tensor& perturbation,
                                    WeightGradients weight_gradients) {
  auto call = std::make_shared<EncoderCall>();
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

torch::Tensor FusedEncoder::forward_with(const torch::Tensor& parameters, const PackedBatch& batch,
                                         const EncoderDropout& dropout) {
  std::unique_ptr<EncoderTape> tape = take_tape();
  const torch::Tensor hidden = torch::empty({batch.tokens(), shape().hidden});
  encoder_forward_training(shape(), encoder_weights(shape(), parameters.data_ptr<float>()), batch,
                           dropout, nullptr, *tape, hidden.data_ptr<float>());
  free_tapes_->push_back(std::move(tape));
  return hidden;
}

void FusedEncoder::watch_gradients(const GradientsDone& done) {
  *layer_done_ = nullptr;
  if (!done) return;
  *layer_done_ = [floats = layer_floats_, done](int64_t layer) {
    const auto [begin, end] = floats[static_cast<size_t>(layer)];
    if (begin < end) done(begin, end);
  };
}

}  // namespace simile
