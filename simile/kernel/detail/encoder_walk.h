// SPDX-License-Identifier: Apache-2.0
// The order of an encoder's tensors, written once for everything that goes by it.
#pragma once

#include <cstdint>
#include <utility>

#include "simile/kernel/encoder_parameters.h"

namespace simile {

// What walk_encoder() tells of one tensor.
struct WalkedTensor {
  int64_t layer;     // -1: of none
  const char* name;  // without "encoder.layer.N."
  int64_t rows;
  int64_t columns;  // 0: a vector of `rows` numbers
  bool is_weight;   // ".weight", else ".bias"
  bool decays;

  int64_t size() const { return columns > 0 ? rows * columns : rows; }
};

// Calls take(WalkedTensor), which returns where the tensor lies (T*), for each tensor in order.
template <typename T, typename Take>
class EncoderWalk {
 public:
  EncoderWalk(const EncoderShape& shape, Take take) : s_(shape), take_(std::move(take)) {}

  EncoderPointers<T> operator()() {
    EncoderPointers<T> p{};
    const int64_t E = s_.embedding_size();
    p.word = matrix("embeddings.word_embeddings", s_.vocabulary, E);
    if (s_.averaged) return p;
    if (s_.has_position_table()) {
      p.position = matrix("embeddings.position_embeddings", s_.positions, E);
    }
    if (s_.types > 0) p.type = matrix("embeddings.token_type_embeddings", s_.types, E);
    norm("embeddings.LayerNorm", E, p.norm_weight, p.norm_bias);
    if (s_.projected) {
      p.projection_weight = matrix("embeddings_project", s_.hidden, E);
      p.projection_bias = bias("embeddings_project", s_.hidden);
    }
    if (s_.relative_buckets > 0) {
      p.relative = take_(WalkedTensor{-1, "encoder.relative_attention_bias", s_.relative_buckets,
                                      s_.heads, true, false});
    }
    for (layer_ = 0; layer_ < s_.stored_layers(); ++layer_) p.layers.push_back(layer());
    layer_ = -1;
    if (!p.layers.empty()) p.layers.resize(static_cast<size_t>(s_.layers), p.layers.front());
    if (s_.pre_norm) norm("final_norm", s_.hidden, p.final_norm_weight, p.final_norm_bias);
    return p;
  }

 private:
  T* matrix(const char* name, int64_t rows, int64_t columns) {
    return take_(WalkedTensor{layer_, name, rows, columns, true, true});
  }
  T* bias(const char* name, int64_t size) {
    return take_(WalkedTensor{layer_, name, size, 0, false, false});
  }
  void norm(const char* name, int64_t size, T*& weight_at, T*& bias_at) {
    weight_at = take_(WalkedTensor{layer_, name, size, 0, true, false});
    bias_at = s_.norm_bias ? bias(name, size) : nullptr;
  }

  LayerPointers<T> layer() {
    const int64_t H = s_.hidden, I = s_.intermediate;
    LayerPointers<T> p{};
    query_key_value(p);
    p.attention_weight = matrix("attention.output.dense", H, H);
    if (s_.attention_bias) p.attention_bias = bias("attention.output.dense", H);
    // The embeddings' LayerNorm serves as the first.
    if (!s_.pre_norm || layer_ > 0) {
      norm("attention.output.LayerNorm", H, p.attention_norm_weight, p.attention_norm_bias);
    }
    up(p);
    p.down_weight = matrix("output.dense", H, I);
    if (s_.down_bias) p.down_bias = bias("output.dense", H);
    norm("output.LayerNorm", H, p.output_norm_weight, p.output_norm_bias);
    return p;
  }

  // Weights side by side, then biases, so that the parts are one matrix and one vector.
  void query_key_value(LayerPointers<T>& p) {
    const int64_t H = s_.hidden;
    if (s_.fused_qkv) {
      p.qkv_weight = matrix("attention.self.qkv", 3 * H, H);
      if (s_.attention_bias) p.qkv_bias = bias("attention.self.qkv", 3 * H);
      return;
    }
    p.qkv_weight = matrix("attention.self.query", H, H);
    matrix("attention.self.key", H, H);
    matrix("attention.self.value", H, H);
    if (!s_.attention_bias) return;
    p.qkv_bias = bias("attention.self.query", H);
    bias("attention.self.key", H);
    bias("attention.self.value", H);
  }

  void up(LayerPointers<T>& p) {
    const int64_t H = s_.hidden, I = s_.intermediate;
    if (!s_.gated || s_.fused_gate) {
      const char* name = s_.gated ? "intermediate.gate_value" : "intermediate.dense";
      p.up_weight = matrix(name, s_.up_size(), H);
      if (s_.up_bias) p.up_bias = bias(name, s_.up_size());
      return;
    }
    p.up_weight = matrix("intermediate.gate", I, H);
    matrix("intermediate.value", I, H);
    if (!s_.up_bias) return;
    p.up_bias = bias("intermediate.gate", I);
    bias("intermediate.value", I);
  }

  const EncoderShape& s_;
  Take take_;
  int64_t layer_ = -1;
};

template <typename T, typename Take>
EncoderPointers<T> walk_encoder(const EncoderShape& shape, Take take) {
  return EncoderWalk<T, Take>(shape, std::move(take))();
}

}  // namespace simile
