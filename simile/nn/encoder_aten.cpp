// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/encoder_aten.h"

#include <torch/types.h>

#include <cmath>
#include <map>

#include "simile/kernel/detail/position_tables.h"

namespace simile {
namespace {

torch::Tensor index_tensor(const std::vector<int32_t>& values, const torch::Device& device) {
  return torch::tensor(values, torch::kInt32).to(device);
}

class AtenEncoder {
 public:
  AtenEncoder(const EncoderShape& shape, const torch::Tensor& flat, const PackedBatch& batch,
              double hidden_dropout, double attention_dropout)
      : shape_(shape),
        batch_(batch),
        options_(flat.options().requires_grad(false)),
        hidden_dropout_(hidden_dropout),
        attention_dropout_(attention_dropout) {
    for (const ParameterSlot& slot : encoder_layout(shape)) {
      tensors_[slot.name] = flat.narrow(0, slot.offset, slot.size).view(slot.shape);
    }
  }

  torch::Tensor run(const torch::Tensor& perturbation) const {
    torch::Tensor x = embed(perturbation);
    for (int64_t i = 0; i < shape_.layers; ++i) {
      const std::string layer =
          "encoder.layer." + std::to_string(shape_.shared_layers ? 0 : i) + ".";
      const std::string first = layer + "attention.output.LayerNorm";
      const std::string second = layer + "output.LayerNorm";
      if (shape_.pre_norm) {
        x = x + attention(i == 0 ? x : norm(x, first), layer, i);
        x = x + feed_forward(norm(x, second), layer);
      } else {
        x = norm(x + attention(x, layer, i), first);
        x = norm(x + feed_forward(x, layer), second);
      }
    }
    return shape_.pre_norm ? norm(x, "final_norm") : x;
  }

 private:
  // Undefined when the encoder has no such tensor.
  torch::Tensor find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? torch::Tensor() : found->second;
  }

  torch::Tensor norm(const torch::Tensor& x, const std::string& name) const {
    return torch::layer_norm(x, {x.size(-1)}, find(name + ".weight"), find(name + ".bias"),
                             shape_.layer_norm_eps);
  }
  torch::Tensor linear(const torch::Tensor& x, const std::string& name) const {
    return torch::linear(x, find(name + ".weight"), find(name + ".bias"));
  }
  torch::Tensor drop(const torch::Tensor& x, double p, bool here = true) const {
    return torch::dropout(x, p, here && p > 0);
  }

  torch::Tensor embed(const torch::Tensor& perturbation) const {
    std::vector<int32_t> positions;
    for (int64_t i = 0; i < batch_.size(); ++i) {
      const int32_t length = batch_.offsets[i + 1] - batch_.offsets[i];
      for (int32_t p = 0; p < length; ++p) {
        positions.push_back(static_cast<int32_t>(shape_.position_offset) + p);
      }
    }
    const std::vector<int32_t> types =
        batch_.type_ids.empty() ? std::vector<int32_t>(batch_.ids.size(), 0) : batch_.type_ids;
    torch::Tensor x;
    const auto add = [&](const char* name, const std::vector<int32_t>& which) {
      const torch::Tensor table = find(name);
      if (!table.defined()) return;
      const torch::Tensor rows = table.index_select(0, index_tensor(which, table.device()));
      x = x.defined() ? x + rows : rows;
    };
    add("embeddings.word_embeddings.weight", batch_.ids);
    add("embeddings.position_embeddings.weight", positions);
    add("embeddings.token_type_embeddings.weight", types);
    x = norm(x, "embeddings.LayerNorm");
    if (shape_.projected) x = linear(drop(x, hidden_dropout_), "embeddings_project");
    if (perturbation.defined()) x = x + perturbation;
    return shape_.projected ? x : drop(x, hidden_dropout_);
  }

  // [tokens, 3H]; several tensors of the layout may be one matrix.
  torch::Tensor query_key_value(const torch::Tensor& x, const std::string& layer) const {
    const std::string self = layer + "attention.self.";
    if (shape_.fused_qkv) return linear(x, self + "qkv");
    return torch::cat(
        {linear(x, self + "query"), linear(x, self + "key"), linear(x, self + "value")}, -1);
  }

  // x [heads, L, d]: numbers j and j + d / 2 turned together.
  torch::Tensor rotate(const torch::Tensor& x, const PositionTables& tables, bool local) const {
    if (tables.cosines(local) == nullptr) return x;
    const int64_t length = x.size(1), half = x.size(2) / 2;
    const auto table = [&](const float* numbers) {
      return torch::from_blob(const_cast<float*>(numbers), {length, half}).clone().to(options_);
    };
    const torch::Tensor c = table(tables.cosines(local)), s = table(tables.sines(local));
    const torch::Tensor a = x.narrow(2, 0, half), b = x.narrow(2, half, half);
    return torch::cat({a * c - b * s, b * c + a * s}, -1);
  }

  // What is added to the scores [heads, L, L], or undefined.
  torch::Tensor shift(int64_t length, bool local) const {
    torch::Tensor sum;
    if (shape_.relative_buckets > 0) {
      std::vector<int32_t> buckets;
      for (int64_t q = 0; q < length; ++q) {
        for (int64_t k = 0; k < length; ++k) {
          buckets.push_back(static_cast<int32_t>(relative_bucket(k - q, shape_.relative_buckets)));
        }
      }
      const torch::Tensor table = find("encoder.relative_attention_bias.weight");
      sum = table.index_select(0, index_tensor(buckets, table.device()))
                .view({length, length, shape_.heads})
                .permute({2, 0, 1});
    }
    if (local) {
      const torch::Tensor place = torch::arange(length, options_);
      const torch::Tensor far = (place.unsqueeze(1) - place.unsqueeze(0)).abs() >
                                static_cast<double>(shape_.local_window);
      const torch::Tensor mask =
          torch::zeros({length, length}, options_).masked_fill(far, -INFINITY);
      sum = sum.defined() ? sum + mask : mask;
    }
    return sum;
  }

  // softmax(q k^T / sqrt(d) + shift) v for each sequence and head, projected: [tokens, H].
  torch::Tensor attention(const torch::Tensor& x, const std::string& layer, int64_t number) const {
    const bool local = shape_.is_local(number);
    const torch::Tensor qkv = query_key_value(x, layer);
    std::vector<torch::Tensor> contexts;
    for (int64_t i = 0; i < batch_.size(); ++i) {
      const int64_t length = batch_.offsets[i + 1] - batch_.offsets[i];
      PositionTables tables;
      EncoderShape rotary = shape_;
      rotary.relative_buckets = 0;  // its table is made here, from the tensor
      tables.build(rotary, {}, length);
      // [L, 3, heads, d] -> three of [heads, L, d]
      const auto parts = qkv.narrow(0, batch_.offsets[i], length)
                             .view({length, 3, shape_.heads, shape_.head_size()})
                             .permute({1, 2, 0, 3})
                             .unbind(0);
      const torch::Tensor query = rotate(parts[0], tables, local);
      const torch::Tensor key = rotate(parts[1], tables, local);
      torch::Tensor scores =
          query.matmul(key.transpose(1, 2)) / std::sqrt(static_cast<double>(shape_.head_size()));
      const torch::Tensor added = shift(length, local);
      if (added.defined()) scores = scores + added;
      scores = drop(torch::softmax(scores, -1), attention_dropout_);
      contexts.push_back(scores.matmul(parts[2]).transpose(0, 1).reshape({length, shape_.hidden}));
    }
    return drop(linear(torch::cat(contexts, 0), layer + "attention.output.dense"), hidden_dropout_,
                shape_.attended_dropout);
  }

  torch::Tensor activate(const torch::Tensor& x) const {
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

  torch::Tensor feed_forward(const torch::Tensor& x, const std::string& layer) const {
    const std::string base = layer + "intermediate.";
    torch::Tensor up;
    if (!shape_.gated) {
      up = activate(linear(x, base + "dense"));
    } else if (shape_.fused_gate) {
      const auto halves = linear(x, base + "gate_value").chunk(2, -1);
      up = activate(halves[0]) * halves[1];
    } else {
      up = activate(linear(x, base + "gate")) * linear(x, base + "value");
    }
    up = drop(up, hidden_dropout_, shape_.inner_dropout);
    return drop(linear(up, layer + "output.dense"), hidden_dropout_, shape_.output_dropout);
  }

  const EncoderShape& shape_;
  const PackedBatch& batch_;
  torch::TensorOptions options_;
  double hidden_dropout_, attention_dropout_;
  std::map<std::string, torch::Tensor> tensors_;
};

}  // namespace

torch::Tensor encode_tokens_aten(const EncoderShape& shape, const torch::Tensor& flat,
                                 const PackedBatch& batch, double hidden_dropout,
                                 double attention_dropout, const torch::Tensor& perturbation) {
  if (batch.tokens() == 0) return torch::zeros({0, shape.hidden}, flat.options());
  return AtenEncoder(shape, flat, batch, hidden_dropout, attention_dropout).run(perturbation);
}

}  // namespace simile
