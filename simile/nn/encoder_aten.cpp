// SPDX-License-Identifier: Apache-2.0
#include "simile/nn/encoder_aten.h"

#include <torch/torch.h>

#include <cmath>

namespace simile {
namespace {

// Hands out the tensors of the flat array in the order of encoder_layout().
class FlatReader {
 public:
  explicit FlatReader(const torch::Tensor& flat) : flat_(flat) {}
  torch::Tensor next(std::vector<int64_t> sizes) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    const torch::Tensor part = flat_.narrow(0, offset_, count).view(sizes);
    offset_ += count;
    return part;
  }

 private:
  const torch::Tensor& flat_;
  int64_t offset_ = 0;
};

torch::Tensor layer_norm(const torch::Tensor& x, FlatReader& weights, const EncoderShape& shape) {
  const torch::Tensor weight = weights.next({shape.hidden}), bias = weights.next({shape.hidden});
  return torch::layer_norm(x, {shape.hidden}, weight, bias, shape.layer_norm_eps);
}

torch::Tensor linear(const torch::Tensor& x, FlatReader& weights, int64_t out, int64_t in) {
  const torch::Tensor weight = weights.next({out, in}), bias = weights.next({out});
  return torch::linear(x, weight, bias);
}

torch::Tensor index_tensor(const std::vector<int32_t>& values, const torch::Device& device) {
  return torch::tensor(values, torch::kInt32).to(device);
}

torch::Tensor embed(const EncoderShape& shape, FlatReader& weights, const PackedBatch& batch,
                    const torch::Device& device) {
  std::vector<int32_t> positions;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int32_t length = batch.offsets[i + 1] - batch.offsets[i];
    for (int32_t p = 0; p < length; ++p) positions.push_back(p);
  }
  const std::vector<int32_t> types =
      batch.type_ids.empty() ? std::vector<int32_t>(batch.ids.size(), 0) : batch.type_ids;
  const auto rows = [&](int64_t count, const std::vector<int32_t>& which) {
    return weights.next({count, shape.hidden}).index_select(0, index_tensor(which, device));
  };
  torch::Tensor x = rows(shape.vocabulary, batch.ids);
  x = x + rows(shape.positions, positions);
  x = x + rows(shape.types, types);
  return layer_norm(x, weights, shape);
}

// softmax(q k^T / sqrt(d)) v for each sequence and head. x: [tokens, 3H] -> [tokens, H].
torch::Tensor attend(const torch::Tensor& qkv, const EncoderShape& shape, const PackedBatch& batch,
                     double dropout) {
  std::vector<torch::Tensor> contexts;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const int64_t length = batch.offsets[i + 1] - batch.offsets[i];
    // [L, 3, heads, d] -> three of [heads, L, d]
    const auto parts = qkv.narrow(0, batch.offsets[i], length)
                           .view({length, 3, shape.heads, shape.head_size()})
                           .permute({1, 2, 0, 3})
                           .unbind(0);
    torch::Tensor scores = parts[0].matmul(parts[1].transpose(1, 2)) /
                           std::sqrt(static_cast<double>(shape.head_size()));
    scores = torch::dropout(torch::softmax(scores, -1), dropout, dropout > 0);
    contexts.push_back(scores.matmul(parts[2]).transpose(0, 1).reshape({length, shape.hidden}));
  }
  return torch::cat(contexts, 0);
}

}  // namespace

torch::Tensor encode_tokens_aten(const EncoderShape& shape, const torch::Tensor& flat,
                                 const PackedBatch& batch, double hidden_dropout,
                                 double attention_dropout, const torch::Tensor& perturbation) {
  if (batch.tokens() == 0) return torch::zeros({0, shape.hidden}, flat.options());
  const auto dropout = [&](const torch::Tensor& x) {
    return torch::dropout(x, hidden_dropout, hidden_dropout > 0);
  };
  FlatReader weights(flat);
  const int64_t H = shape.hidden, I = shape.intermediate;
  torch::Tensor x = embed(shape, weights, batch, flat.device());
  if (perturbation.defined()) x = x + perturbation;
  x = dropout(x);
  for (int64_t i = 0; i < shape.layers; ++i) {
    const torch::Tensor qkv = linear(x, weights, 3 * H, H);
    const torch::Tensor attended = attend(qkv, shape, batch, attention_dropout);
    x = layer_norm(dropout(linear(attended, weights, H, H)) + x, weights, shape);
    const torch::Tensor up = torch::gelu(linear(x, weights, I, H));
    x = layer_norm(dropout(linear(up, weights, H, I)) + x, weights, shape);
  }
  return x;
}

}  // namespace simile
