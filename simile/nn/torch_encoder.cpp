// SPDX-License-Identifier: Apache-2.0
#include <torch/csrc/autograd/custom_function.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "simile/core/check.h"
#include "simile/kernel/detail/batch_plan.h"
#include "simile/nn/engines.h"
#include "simile/nn/torch_layers.h"

namespace simile {
namespace {

using torch::Tensor;
using Tensors = std::map<std::string, Tensor>;

// The name of the matrix that a tensor of the layout is rows of.
std::string matrix_name(std::string name) {
  static const std::vector<std::pair<std::string, std::string>> parts = {
      {".self.query.", ".self.qkv."},
      {".self.key.", ".self.qkv."},
      {".self.value.", ".self.qkv."},
      {".intermediate.gate.", ".intermediate.gate_value."},
      {".intermediate.value.", ".intermediate.gate_value."}};
  for (const auto& [part, whole] : parts) {
    const size_t at = name.find(part);
    if (at != std::string::npos) return name.replace(at, part.size(), whole);
  }
  return name;
}

// encoder_layout() with adjacent tensors that are one matrix as one.
std::vector<ParameterSlot> matrix_layout(const EncoderShape& shape) {
  std::vector<ParameterSlot> matrices;
  for (ParameterSlot& slot : encoder_layout(shape)) {
    slot.name = matrix_name(slot.name);
    if (matrices.empty() || matrices.back().name != slot.name) {
      matrices.push_back(std::move(slot));
      continue;
    }
    matrices.back().shape[0] += slot.shape[0];
    matrices.back().size += slot.size;
  }
  return matrices;
}

using Matrices = std::vector<ParameterSlot>;  // of matrix_layout()

Tensors split(const Matrices& matrices, const Tensor& flat) {
  std::vector<int64_t> sizes;
  for (const ParameterSlot& matrix : matrices) sizes.push_back(matrix.size);
  const std::vector<Tensor> parts = flat.split_with_sizes(sizes);
  Tensors tensors;
  for (size_t i = 0; i < parts.size(); ++i) {
    tensors[matrices[i].name] = parts[i].view(matrices[i].shape);
  }
  return tensors;
}

// Parts of the weights in bfloat16. Each copy alone would be a small kernel in both directions, of
// which a GPU waits for some hundred a step.
class RoundedParts : public torch::autograd::Function<RoundedParts> {
 public:
  // Backward adds to `gradient` [n], of `weights` [n]. `leaf`, any that requires a gradient, makes
  // the parts require one.
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const Tensor& /*leaf*/, const Tensor& weights,
                                                const Tensor& gradient,
                                                const std::vector<int64_t>& sizes) {
    context->saved_data["gradient"] = gradient;
    context->saved_data["sizes"] = sizes;
    context->set_materialize_grads(false);
    return weights.to(torch::kBFloat16).split_with_sizes(sizes);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list parts) {
    const Tensor gradient = context->saved_data["gradient"].toTensor();
    const std::vector<int64_t> sizes = context->saved_data["sizes"].toIntVector();
    const Tensor zeros = torch::zeros({*std::max_element(sizes.begin(), sizes.end())},
                                      gradient.options().dtype(torch::kBFloat16));
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = parts[i].defined() ? parts[i].reshape({-1}) : zeros.narrow(0, 0, sizes[i]);
    }
    gradient.add_(torch::cat(parts));
    return {Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

// The weights behind the word embedding in bfloat16; with a `leaf`, backward adds to `gradient`.
Tensors round_weights(const Matrices& matrices, const Tensor& flat, const Tensor& leaf = {},
                      const Tensor& gradient = {}) {
  std::vector<int64_t> sizes;
  for (size_t i = 1; i < matrices.size(); ++i) sizes.push_back(matrices[i].size);
  const int64_t first = matrices[0].size, count = flat.size(0) - first;
  const Tensor weights = flat.detach().narrow(0, first, count);
  const std::vector<Tensor> parts =
      leaf.defined() ? RoundedParts::apply(leaf, weights, gradient.narrow(0, first, count), sizes)
                     : weights.to(torch::kBFloat16).split_with_sizes(sizes);
  Tensors rounded;
  for (size_t i = 0; i < parts.size(); ++i) {
    rounded[matrices[i + 1].name] = parts[i].view(matrices[i + 1].shape);
  }
  return rounded;
}

// Rows of a matrix [rows, width]; backward adds in an order that the indices decide.
Tensor gather(const Tensor& rows, const Tensor& which) { return torch::embedding(rows, which); }

// One forward pass.
class TorchPass {
 public:
  // `rounded`: weights in bfloat16, by name, where products take such; others are rounded here.
  TorchPass(const EncoderShape& shape, const Tensors& tensors, const Tensors& rounded,
            const PackedBatch& batch, const EncoderDropout& dropout, ProductType products)
      : shape_(shape),
        tensors_(tensors),
        rounded_(rounded),
        rounds_(products == ProductType::kBfloat),
        like_(find("embeddings.word_embeddings.weight")),
        batch_(shape, batch, like_.device()),
        sequences_(batch.size()),
        dropout_(dropout) {
    for (const bool local : {false, true}) {
      if (!batch_.cosines[local].defined()) continue;
      batch_.cosines[local] = batch_.cosines[local].to(like_.scalar_type());
      batch_.sines[local] = batch_.sines[local].to(like_.scalar_type());
    }
    if (batch_.buckets.defined()) {
      const Tensor table = find("encoder.relative_attention_bias.weight");
      shift_ = torch::embedding(table, batch_.buckets).permute({2, 0, 1});
    }
    draw_masks();
  }

  Tensor run(const Tensor& perturbation) const {
    Tensor x = embed(perturbation);
    for (int64_t i = 0; i < shape_.layers; ++i) {
      const std::string layer =
          "encoder.layer." + std::to_string(shape_.shared_layers ? 0 : i) + ".";
      const std::string first = layer + "attention.output.LayerNorm";
      const std::string second = layer + "output.LayerNorm";
      if (shape_.pre_norm) {
        x = x + attention(i == 0 ? x : norm(x, first), layer, i);
        x = x + feed_forward(norm(x, second), layer, i);
      } else {
        x = norm(x + attention(x, layer, i), first);
        x = norm(x + feed_forward(x, layer, i), second);
      }
    }
    return shape_.pre_norm ? norm(x, "final_norm") : x;
  }

 private:
  // Undefined when the encoder has no such tensor.
  Tensor find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? Tensor() : found->second;
  }

  Tensor norm(const Tensor& x, const std::string& name) const {
    return torch::layer_norm(x, {x.size(-1)}, find(name + ".weight"), find(name + ".bias"),
                             shape_.layer_norm_eps);
  }
  // As an operand of a product.
  Tensor operand(const Tensor& x) const {
    return rounds_ && x.defined() ? x.to(torch::kBFloat16) : x;
  }
  Tensor weight(const std::string& name) const {
    const auto found = rounded_.find(name);
    return found == rounded_.end() ? operand(find(name)) : found->second;
  }
  Tensor linear(const Tensor& x, const std::string& name) const {
    return torch::linear(operand(x), weight(name + ".weight"), weight(name + ".bias"));
  }

  // x [tokens, width]
  Tensor drop(const Tensor& x, DropoutPlace place, int64_t layer) const {
    const auto found = factors_.find({place, layer});
    return found == factors_.end() ? x : x * found->second;
  }

  Tensor embed(const Tensor& perturbation) const {
    Tensor x = gather(like_, batch_.ids);
    const auto add = [&](const char* name, const Tensor& which) {
      const Tensor table = find(name);
      if (table.defined()) x = x + gather(table, which);
    };
    add("embeddings.position_embeddings.weight", batch_.positions);
    add("embeddings.token_type_embeddings.weight", batch_.types);
    x = norm(x, "embeddings.LayerNorm");
    if (shape_.projected) {
      x = linear(drop(x, DropoutPlace::kEmbedding, 0), "embeddings_project")
              .to(like_.scalar_type());
    }
    if (perturbation.defined()) x = x + perturbation;
    return shape_.projected ? x : drop(x, DropoutPlace::kEmbedding, 0);
  }

  // softmax(q k^T / sqrt(d) + shift) v for each sequence and head, projected: [tokens, H].
  Tensor attention(const Tensor& x, const std::string& layer, int64_t number) const {
    const Tensor qkv = linear(x, layer + "attention.self.qkv");
    std::vector<Tensor> contexts;
    for (size_t i = 0; i < batch_.groups.size(); ++i) contexts.push_back(attend(qkv, i, number));
    const Tensor context = gather(torch::cat(contexts), batch_.places);
    return drop(linear(context, layer + "attention.output.dense"), DropoutPlace::kAttentionOutput,
                number);
  }

  // The contexts [n L, H] of a group.
  Tensor attend(const Tensor& qkv, size_t index, int64_t number) const {
    const PaddedGroup& group = batch_.groups[index];
    const bool local = shape_.is_local(number);
    // [n L, 3H] -> three of [n, heads, L, d]
    const auto parts = gather(qkv, group.tokens)
                           .view({group.size, group.length, 3, shape_.heads, shape_.head_size()})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    AttentionInput input{operand(rotate(parts[0], local)), operand(rotate(parts[1], local)),
                         parts[2], local ? group.hidden_in_windows : group.hidden};
    if (shift_.defined()) {
      input.shift = shift_.narrow(1, 0, group.length).narrow(2, 0, group.length);
    }
    if (!attention_factors_.empty()) {
      input.factors = attention_factors_[index][number].narrow(-1, 0, group.length);
    }
    Tensor context = attention_contexts(input);
    if (!head_factors_.empty()) {
      context = context * head_factors_[number]
                              .index_select(0, group.sequences)
                              .view({group.size, shape_.heads, 1, 1});
    }
    return context.transpose(1, 2).reshape({group.size * group.length, shape_.hidden});
  }

  // x [n, heads, L, d]: numbers j and j + d / 2 turned together.
  Tensor rotate(const Tensor& x, bool local) const {
    if (!batch_.cosines[local].defined()) return x;
    const int64_t length = x.size(2), half = x.size(3) / 2;
    const Tensor c = batch_.cosines[local].narrow(0, 0, length);
    const Tensor s = batch_.sines[local].narrow(0, 0, length);
    const Tensor a = x.narrow(3, 0, half), b = x.narrow(3, half, half);
    return torch::cat({a * c - b * s, b * c + a * s}, -1);
  }

  // The factors of all dropout of the pass.
  void draw_masks() {
    std::map<int64_t, std::vector<std::pair<DropoutPlace, int64_t>>> by_width;
    by_width[like_.size(1)].emplace_back(DropoutPlace::kEmbedding, 0);
    for (int64_t i = 0; i < shape_.layers; ++i) {
      auto& hidden = by_width[shape_.hidden];
      if (shape_.attended_dropout) hidden.emplace_back(DropoutPlace::kAttentionOutput, i);
      if (shape_.output_dropout) hidden.emplace_back(DropoutPlace::kOutput, i);
      if (shape_.inner_dropout) {
        by_width[shape_.intermediate].emplace_back(DropoutPlace::kInner, i);
      }
    }
    for (const auto& [width, places] : by_width) draw_rows(width, places);
    std::vector<DropoutMask> masks;
    for (int64_t i = 0; i < shape_.layers; ++i) {
      masks.emplace_back(dropout_, DropoutPlace::kAttention, i);
      const DropoutMask heads(dropout_, DropoutPlace::kHead, i);
      if (!heads.active()) continue;
      head_factors_.push_back(
          dropout_heads(heads, dropout_.origin.sequence, sequences_, shape_.heads, like_));
    }
    if (masks.empty() || !masks[0].active()) return;
    const Tensor drawn = simile::draw_masks(masks, dropout_.origin.attention_byte,
                                            batch_.attention_bytes, like_.device());
    for (const PaddedGroup& group : batch_.groups) {
      const Tensor which = attention_bytes(group);
      std::vector<int64_t> shape = which.sizes().vec();
      shape.insert(shape.begin(), static_cast<int64_t>(masks.size()));
      const Tensor bytes = drawn.index_select(1, which.flatten()).view(shape);
      attention_factors_.push_back(dropout_factors(masks, bytes, like_));
    }
  }

  void draw_rows(int64_t width, const std::vector<std::pair<DropoutPlace, int64_t>>& places) {
    std::vector<DropoutMask> masks;
    std::vector<std::pair<DropoutPlace, int64_t>> active;
    for (const auto& [place, layer] : places) {
      const DropoutMask mask(dropout_, place, layer);
      if (!mask.active()) continue;
      masks.push_back(mask);
      active.emplace_back(place, layer);
    }
    if (masks.empty()) return;
    const auto factors =
        dropout_rows(masks, dropout_.origin.token, batch_.ids.size(0), width, like_);
    for (size_t i = 0; i < active.size(); ++i) factors_[active[i]] = factors[i];
  }

  // [n, heads, L, bytes]: the bytes of a layer's mask that decide on a group's shares. Any byte
  // will do for padding.
  Tensor attention_bytes(const PaddedGroup& group) const {
    const auto count = [&](int64_t end) { return torch::arange(end, group.lengths.options()); };
    const Tensor length = group.lengths.view({-1, 1, 1, 1});
    const Tensor row =
        count(shape_.heads).view({-1, 1, 1}) * length + count(group.length).view({-1, 1});
    const Tensor row_bytes = (length + 15).div(16, "floor") * 2;  // mask_bytes()
    const Tensor byte = row * row_bytes + count((group.length + 7) / 8);
    return (group.mask_bytes.view({-1, 1, 1, 1}) + byte).clamp_max(batch_.attention_bytes - 1);
  }

  Tensor activate(const Tensor& x) const {
    switch (shape_.activation) {
      case Activation::kGelu:
        return torch::gelu(x);
      case Activation::kGeluTanh:
        return 0.5 * x * (1 + torch::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
      case Activation::kRelu:
        return torch::relu(x);
      case Activation::kSilu:
        return torch::silu(x);
    }
    return x;
  }

  Tensor feed_forward(const Tensor& x, const std::string& layer, int64_t number) const {
    Tensor up;
    if (shape_.gated) {
      const auto halves = linear(x, layer + "intermediate.gate_value").chunk(2, -1);
      up = activate(halves[0]) * halves[1];
    } else {
      up = activate(linear(x, layer + "intermediate.dense"));
    }
    up = drop(up, DropoutPlace::kInner, number);
    return drop(linear(up, layer + "output.dense"), DropoutPlace::kOutput, number);
  }

  const EncoderShape& shape_;
  const Tensors &tensors_, &rounded_;
  bool rounds_;
  Tensor like_;  // the word embedding: every tensor's type and device
  PaddedBatch batch_;
  int64_t sequences_;
  const EncoderDropout& dropout_;
  Tensor shift_;  // of scores, [heads, longest, longest], or not defined
  std::map<std::pair<DropoutPlace, int64_t>, Tensor> factors_;  // [tokens, width], by place, layer
  std::vector<Tensor> head_factors_;  // [sequences, heads], by layer; none: no DropHead
  std::vector<std::vector<Tensor>> attention_factors_;  // [n, heads, L, 8 bytes], by group, layer
};

// An averaged encoder's states [sequences, H]. Rows of zeros get no gradient.
Tensor average_with_torch(const EncoderShape& shape, const Tensors& tensors,
                          const PackedBatch& batch, const EncoderDropout& dropout,
                          const Tensor& perturbation) {
  check_batch(shape, batch);
  const Tensor& table = tensors.begin()->second;
  const Tensor ids = torch::tensor(batch.ids, torch::kInt64).to(table.device());
  Tensor rows = gather(table, ids);
  rows = torch::where((rows.detach() != 0).any(1, true), rows, torch::zeros_like(rows));
  if (perturbation.defined()) rows = rows + perturbation;
  const Tensor states = sequence_means(rows, batch);
  const DropoutMask mask(dropout, DropoutPlace::kEmbedding, 0);
  if (!mask.active()) return states;
  return states *
         dropout_rows({mask}, dropout.origin.sequence, states.size(0), states.size(1), states)[0];
}

Tensor encode(const EncoderShape& shape, const Tensors& tensors, const Tensors& rounded,
              const PackedBatch& batch, const EncoderDropout& dropout, const Tensor& perturbation,
              ProductType products) {
  if (shape.averaged) return average_with_torch(shape, tensors, batch, dropout, perturbation);
  if (batch.tokens() == 0) {
    return torch::zeros({0, shape.hidden}, tensors.begin()->second.options());
  }
  return TorchPass(shape, tensors, rounded, batch, dropout, products).run(perturbation);
}

// Shared layers' gradients are summed over the layers in fp32, so their weights are rounded one by
// one.
bool rounds_at_once(const EncoderShape& shape, ProductType products) {
  return products == ProductType::kBfloat && !shape.averaged && !shape.shared_layers;
}

// Without gradients of the weights `flat`.
Tensor encode_with(const EncoderShape& shape, const Matrices& matrices, const Tensor& flat,
                   const PackedBatch& batch, const EncoderDropout& dropout,
                   const Tensor& perturbation, ProductType products) {
  const Tensors rounded =
      rounds_at_once(shape, products) ? round_weights(matrices, flat) : Tensors();
  return encode(shape, split(matrices, flat), rounded, batch, dropout, perturbation, products);
}

class TorchEncoder final : public TrainableEncoder {
 public:
  TorchEncoder(const EncoderShape& shape, const EncoderMemory& memory, ProductType products)
      : TrainableEncoder(shape, memory), matrices_(matrix_layout(shape)), products_(products) {
    check_torch_products(products);
    const Tensors shares = split(matrices_, gradients());
    for (const auto& [name, tensor] : split(matrices_, parameters())) {
      Tensor& leaf = leaves_[name] = tensor.detach();
      leaf.mutable_grad() = shares.at(name);
      leaf.set_requires_grad(true);
    }
  }

  Tensor forward(const PackedBatch& batch, const EncoderDropout& dropout,
                 const Tensor& perturbation, WeightGradients weight_gradients) override {
    if (weight_gradients != WeightGradients::kAdd) {
      return encode_with(shape(), matrices_, parameters(), batch, dropout, perturbation, products_);
    }
    const Tensors rounded =
        rounds_at_once(shape(), products_)
            ? round_weights(matrices_, parameters(), leaves_.begin()->second, gradients())
            : Tensors();
    return encode(shape(), leaves_, rounded, batch, dropout, perturbation, products_);
  }

  Tensor forward_with(const Tensor& parameters, const PackedBatch& batch,
                      const EncoderDropout& dropout) override {
    torch::NoGradGuard guard;
    return encode_with(shape(), matrices_, parameters, batch, dropout, {}, products_);
  }

 private:
  const Matrices matrices_;
  ProductType products_;
  Tensors leaves_;  // parts of parameters(), gradients in gradients()
};

}  // namespace

void check_torch_products(ProductType products) {
  SIMILE_CHECK(products != ProductType::kByte, ErrorKind::kRecipe,
               "int8 is for the CPU's own kernels; take bf16 or fp32 where libtorch computes");
}

std::unique_ptr<TrainableEncoder> make_torch_encoder(const EncoderShape& shape,
                                                     const EncoderMemory& memory,
                                                     ProductType products) {
  return std::make_unique<TorchEncoder>(shape, memory, products);
}

torch::Tensor encode_with_torch(const EncoderShape& shape, const torch::Tensor& weights,
                                const PackedBatch& batch, const EncoderDropout& dropout,
                                const torch::Tensor& perturbation, ProductType products) {
  check_torch_products(products);
  return encode_with(shape, matrix_layout(shape), weights, batch, dropout, perturbation, products);
}

}  // namespace simile
