// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_parameters.h"

#include <utility>

#include "simile/core/half.h"

namespace simile {
namespace {

// One tensor, in the order of the walk.
struct WalkedTensor {
  int64_t layer;     // -1: of none
  const char* name;  // without "encoder.layer.N."
  int64_t rows;
  int64_t columns;  // 0: a vector of `rows` numbers
  bool is_weight;   // ".weight", else ".bias"
  bool decays;

  int64_t size() const { return columns > 0 ? rows * columns : rows; }
};

// The order of an encoder's tensors: for each, take(WalkedTensor) returns where it lies (T*).
template <typename T>
class EncoderWalk {
 public:
  using Take = std::function<T*(const WalkedTensor&)>;
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

}  // namespace

template <typename T>
EncoderPointers<T> encoder_pointers(const EncoderShape& shape, T* flat) {
  return EncoderWalk<T>(shape, [next = flat](const WalkedTensor& tensor) mutable {
    return std::exchange(next, next + tensor.size());
  })();
}
template EncoderPointers<const double> encoder_pointers(const EncoderShape&, const double*);

const float* word_row(const EncoderWeights& weights, int64_t E, int64_t id, float* row) {
  if (weights.half_word == nullptr) return weights.word + id * E;
  halves_to_floats(weights.half_word + id * E, E, row);
  return row;
}

std::vector<ParameterSlot> encoder_layout(const EncoderShape& shape) {
  std::vector<ParameterSlot> slots;
  int64_t offset = 0;
  EncoderWalk<const float>(shape, [&](const WalkedTensor& tensor) -> const float* {
    std::vector<int64_t> sides = {tensor.rows};
    if (tensor.columns > 0) sides.push_back(tensor.columns);
    const std::string layer =
        tensor.layer < 0 ? "" : "encoder.layer." + std::to_string(tensor.layer) + ".";
    slots.push_back({layer + tensor.name + (tensor.is_weight ? ".weight" : ".bias"), sides, offset,
                     tensor.size(), tensor.decays, tensor.layer});
    offset += tensor.size();
    return nullptr;
  })();
  return slots;
}

int64_t encoder_parameter_count(const EncoderShape& shape) {
  const ParameterSlot last = encoder_layout(shape).back();
  return last.offset + last.size;
}

EncoderWeights encoder_weights(const EncoderShape& shape, const float* flat) {
  return {encoder_pointers(shape, flat), nullptr};
}

EncoderGradients encoder_gradients(const EncoderShape& shape, float* flat) {
  return encoder_pointers(shape, flat);
}

EncoderWeights encoder_weights_at(const EncoderShape& shape,
                                  const std::vector<const float*>& places) {
  const auto take = [next = places.begin()](const WalkedTensor&) mutable { return *next++; };
  return {EncoderWalk<const float>(shape, take)(), nullptr};
}

}  // namespace simile
