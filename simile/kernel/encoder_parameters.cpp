// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/encoder_parameters.h"

namespace simile {
namespace {

struct LayoutBuilder {
  std::vector<ParameterSlot> slots;
  int64_t offset = 0;

  void add(const std::string& name, std::vector<int64_t> shape, bool decays) {
    int64_t size = 1;
    for (const int64_t dimension : shape) size *= dimension;
    slots.push_back({name, std::move(shape), offset, size, decays});
    offset += size;
  }
  void linear(const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", {out, in}, true);
    add(name + ".bias", {out}, false);
  }
  void norm(const std::string& name, int64_t size) {
    add(name + ".weight", {size}, false);
    add(name + ".bias", {size}, false);
  }
};

// Walks a flat array in the order of the layout.
template <typename T>
EncoderPointers<T> point_into(const EncoderShape& s, T* flat) {
  T* next = flat;
  const auto take = [&next](int64_t size) {
    T* here = next;
    next += size;
    return here;
  };
  const int64_t H = s.hidden, I = s.intermediate;
  EncoderPointers<T> p;
  p.word = take(s.vocabulary * H);
  p.position = take(s.positions * H);
  p.type = take(s.types * H);
  p.norm_weight = take(H);
  p.norm_bias = take(H);
  for (int64_t i = 0; i < s.layers; ++i) {
    LayerPointers<T> layer;
    layer.qkv_weight = take(3 * H * H);
    layer.qkv_bias = take(3 * H);
    layer.attention_weight = take(H * H);
    layer.attention_bias = take(H);
    layer.attention_norm_weight = take(H);
    layer.attention_norm_bias = take(H);
    layer.up_weight = take(I * H);
    layer.up_bias = take(I);
    layer.down_weight = take(H * I);
    layer.down_bias = take(H);
    layer.output_norm_weight = take(H);
    layer.output_norm_bias = take(H);
    p.layers.push_back(layer);
  }
  return p;
}

}  // namespace

std::vector<ParameterSlot> encoder_layout(const EncoderShape& s) {
  const int64_t H = s.hidden, I = s.intermediate;
  LayoutBuilder b;
  b.add("embeddings.word_embeddings.weight", {s.vocabulary, H}, true);
  b.add("embeddings.position_embeddings.weight", {s.positions, H}, true);
  b.add("embeddings.token_type_embeddings.weight", {s.types, H}, true);
  b.norm("embeddings.LayerNorm", H);
  for (int64_t i = 0; i < s.layers; ++i) {
    const std::string layer = "encoder.layer." + std::to_string(i) + ".";
    const std::string self = layer + "attention.self.";
    for (const char* part : {"query", "key", "value"}) b.add(self + part + ".weight", {H, H}, true);
    for (const char* part : {"query", "key", "value"}) b.add(self + part + ".bias", {H}, false);
    b.linear(layer + "attention.output.dense", H, H);
    b.norm(layer + "attention.output.LayerNorm", H);
    b.linear(layer + "intermediate.dense", I, H);
    b.linear(layer + "output.dense", H, I);
    b.norm(layer + "output.LayerNorm", H);
  }
  return b.slots;
}

int64_t encoder_parameter_count(const EncoderShape& shape) {
  const ParameterSlot last = encoder_layout(shape).back();
  return last.offset + last.size;
}

EncoderWeights encoder_weights(const EncoderShape& shape, const float* flat) {
  return {point_into<const float>(shape, flat), nullptr};
}

EncoderGradients encoder_gradients(const EncoderShape& shape, float* flat) {
  return point_into<float>(shape, flat);
}

}  // namespace simile
