// SPDX-License-Identifier: Apache-2.0
// The sizes of a transformer encoder and where each of its weights lies.
//
// All weights of an encoder form one flat array of floats in the order of encoder_layout(): the
// word embedding first, then the rest. The same layout serves inference, training, gradients and
// the optimiser's moments, so that each of those is one array. Query, key and value of a layer are
// one matrix of shape [3 * hidden, hidden] (rows: query, key, value), which is three adjacent
// tensors in a checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simile {

struct EncoderShape {
  int64_t layers = 0;
  int64_t hidden = 0;        // H
  int64_t heads = 0;         // divides hidden
  int64_t intermediate = 0;  // I
  int64_t vocabulary = 0;    // V
  int64_t positions = 0;     // rows of the position embedding
  int64_t types = 0;         // rows of the token type embedding
  float layer_norm_eps = 1e-12f;

  int64_t head_size() const { return hidden / heads; }
};

// Pointers to one layer's weights; T is `const float` or `float`.
template <typename T>
struct LayerPointers {
  T* qkv_weight;             // [3H, H]
  T* qkv_bias;               // [3H]
  T* attention_weight;       // [H, H], the attention's output projection
  T* attention_bias;         // [H]
  T* attention_norm_weight;  // [H]
  T* attention_norm_bias;    // [H]
  T* up_weight;              // [I, H]
  T* up_bias;                // [I]
  T* down_weight;            // [H, I]
  T* down_bias;              // [H]
  T* output_norm_weight;     // [H]
  T* output_norm_bias;       // [H]
};

template <typename T>
struct EncoderPointers {
  T* word;         // [V, H]
  T* position;     // [positions, H]
  T* type;         // [types, H]
  T* norm_weight;  // [H]
  T* norm_bias;    // [H]
  std::vector<LayerPointers<T>> layers;
};

struct EncoderWeights : EncoderPointers<const float> {
  // The word embedding in IEEE half precision, in place of `word`, which is null then: rows become
  // floats as they are used, which is exact.
  const uint16_t* half_word = nullptr;
};
using EncoderGradients = EncoderPointers<float>;

// One tensor of the flat array, under the name BERT checkpoints give it
// ("encoder.layer.0.attention.self.query.weight").
struct ParameterSlot {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // floats from the start of the array
  int64_t size = 0;    // floats
  bool decays = true;  // weight decay applies: not to biases and LayerNorm
};

// Every tensor, adjacent, in the order of the flat array.
std::vector<ParameterSlot> encoder_layout(const EncoderShape& shape);

// Floats of the whole array.
int64_t encoder_parameter_count(const EncoderShape& shape);

// Pointers into a flat array laid out by encoder_layout().
EncoderWeights encoder_weights(const EncoderShape& shape, const float* flat);
EncoderGradients encoder_gradients(const EncoderShape& shape, float* flat);

}  // namespace simile
