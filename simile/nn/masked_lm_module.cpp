// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/masked_lm_module.h"

#include <torch/autograd.h>
#include <torch/utils.h>

#include <algorithm>
#include <functional>

#include "simile/core/check.h"

namespace simile {
namespace {

using torch::Tensor;

enum Slot { kWeight, kBias, kNormWeight, kNormBias, kDecoder };  // of masked_lm_layout()

// The word embedding [V, H], first in a flat tensor of encoder_layout().
Tensor word_table(const EncoderShape& shape, const Tensor& flat) {
  return flat.narrow(0, 0, shape.vocabulary * shape.hidden).view({shape.vocabulary, shape.hidden});
}

// A leaf whose gradient is added to `gradient`.
Tensor leaf_of(const Tensor& values, const Tensor& gradient) {
  Tensor leaf = values.detach();
  leaf.mutable_grad() = gradient;
  return leaf.set_requires_grad(true);
}

Tensor operand(const Tensor& x, ProductType products) {
  return products == ProductType::kBfloat ? x.to(torch::kBFloat16) : x;
}

// The product of torch::linear() with operands of that type, its result in the type of x.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, ProductType products) {
  return torch::linear(operand(x, products), operand(weight, products), operand(bias, products))
      .to(x.scalar_type());
}

// The losses of rows of states [n, H], block by block; each block's sum goes to `use`.
VocabularyLoss sum_losses(const Tensor& states, const Tensor& words, const Tensor& embedding,
                          const Tensor& bias, ProductType products,
                          const std::function<void(const Tensor&)>& use) {
  Tensor sum = torch::zeros({}, states.options().dtype(torch::kDouble));
  Tensor correct = torch::zeros({}, states.options().dtype(torch::kInt64));
  // Few rows of logits stay in the CPU's caches, many keep a GPU busy.
  const int64_t block = states.is_cpu() ? 256 : 4096;
  for (int64_t begin = 0; begin < states.size(0); begin += block) {
    const int64_t rows = std::min(block, states.size(0) - begin);
    const Tensor logits = linear(states.narrow(0, begin, rows), embedding, bias, products);
    const Tensor target = words.narrow(0, begin, rows).unsqueeze(1);
    const Tensor own = logits.gather(1, target).squeeze(1);
    const Tensor losses = logits.logsumexp(1) - own;
    sum += losses.detach().sum(torch::kDouble);
    correct += (own >= logits.amax(1)).sum();
    use(losses.sum());
  }
  return {sum.item<double>(), correct.item<int64_t>()};
}

class FusedMaskedLm final : public MaskedLmModule {
 public:
  FusedMaskedLm(const EncoderShape& shape, ProductType products)
      : MaskedLmModule(shape, torch::kCPU), masked_lm_(shape, products) {}

  VocabularyLoss losses(const TrainableEncoder& encoder, const Tensor& hidden,
                        const MaskedTokens& masked) override {
    return masked_lm_(parameters().data_ptr<float>(), encoder.parameters().data_ptr<float>(),
                      hidden.data_ptr<float>(), hidden.size(0), masked, nullptr);
  }

  VocabularyLoss backward(TrainableEncoder& encoder, const Tensor& hidden,
                          const MaskedTokens& masked, float scale) override {
    const Tensor gradient = torch::empty(hidden.sizes());
    const MaskedLmGradients gradients{scale, gradient.data_ptr<float>(),
                                      this->gradients().data_ptr<float>(),
                                      encoder.gradients().data_ptr<float>()};
    const VocabularyLoss loss =
        masked_lm_(parameters().data_ptr<float>(), encoder.parameters().data_ptr<float>(),
                   hidden.data_ptr<float>(), hidden.size(0), masked, &gradients);
    hidden.backward(gradient);
    return loss;
  }

 private:
  MaskedLm masked_lm_;
};

class TorchMaskedLm final : public MaskedLmModule {
 public:
  TorchMaskedLm(const EncoderShape& shape, torch::Device device, ProductType products)
      : MaskedLmModule(shape, device), shape_(shape), products_(products) {
    for (const ParameterSlot& slot : masked_lm_layout(shape)) {
      const auto part = [&](const Tensor& flat) {
        return flat.narrow(0, slot.offset, slot.size).view(slot.shape);
      };
      leaves_.push_back(leaf_of(part(parameters()), part(gradients())));
    }
  }

  VocabularyLoss losses(const TrainableEncoder& encoder, const Tensor& hidden,
                        const MaskedTokens& masked) override {
    if (masked.size() == 0) return {};
    torch::NoGradGuard guard;
    const Tensor words = torch::tensor(masked.words, torch::kInt64).to(hidden.device());
    return sum_losses(states(hidden, masked), words, word_table(shape_, encoder.parameters()),
                      leaves_[kDecoder], products_, [](const Tensor&) {});
  }

  VocabularyLoss backward(TrainableEncoder& encoder, const Tensor& hidden,
                          const MaskedTokens& masked, float scale) override {
    if (masked.size() == 0) return {};
    const Tensor words = torch::tensor(masked.words, torch::kInt64).to(hidden.device());
    const Tensor embedding =
        leaf_of(word_table(shape_, encoder.parameters()), word_table(shape_, encoder.gradients()));
    const Tensor behind = states(hidden, masked);
    const Tensor cut = behind.detach().set_requires_grad(true);  // each block's graph is freed
    const VocabularyLoss loss = sum_losses(cut, words, embedding, leaves_[kDecoder], products_,
                                           [&](const Tensor& sum) { (sum * scale).backward(); });
    behind.backward(cut.grad());
    return loss;
  }

 private:
  Tensor states(const Tensor& hidden, const MaskedTokens& masked) const {
    for (const int32_t word : masked.words) {
      SIMILE_CHECK(word >= 0 && word < shape_.vocabulary, ErrorKind::kInput,
                   "masked language model: the word {} is outside the vocabulary of {}", word,
                   shape_.vocabulary);
    }
    const Tensor positions = torch::tensor(masked.positions, torch::kInt32).to(hidden.device());
    const Tensor x =
        linear(hidden.index_select(0, positions), leaves_[kWeight], leaves_[kBias], products_);
    return torch::layer_norm(torch::gelu(x), {shape_.hidden}, leaves_[kNormWeight],
                             leaves_[kNormBias], shape_.layer_norm_eps);
  }

  EncoderShape shape_;
  ProductType products_;
  // In the order of the layout: leaves whose gradients are in gradients().
  std::vector<Tensor> leaves_;
};

}  // namespace

MaskedLmModule::MaskedLmModule(const EncoderShape& shape, torch::Device device)
    : parameters_(torch::zeros({masked_lm_layout(shape).back().offset + shape.vocabulary}, device)),
      gradients_(torch::zeros_like(parameters_)) {}

std::unique_ptr<MaskedLmModule> make_fused_masked_lm(const EncoderShape& shape,
                                                     ProductType products) {
  return std::make_unique<FusedMaskedLm>(shape, products);
}

std::unique_ptr<MaskedLmModule> make_torch_masked_lm(const EncoderShape& shape,
                                                     torch::Device device, ProductType products) {
  return std::make_unique<TorchMaskedLm>(shape, device, products);
}

}  // namespace simile
