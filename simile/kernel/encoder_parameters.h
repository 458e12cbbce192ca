// SPDX-License-Identifier: Apache-2.0
// The sizes of a transformer encoder and where each of its weights lies.
//
// All weights of an encoder form one flat array of floats in the order of encoder_layout(): the
// word embedding first, then the rest. The same layout serves inference, training, gradients and
// the optimiser's moments, so that each of those is one array. Query, key and value of a layer are
// one matrix [3 * hidden, hidden] (rows: query, key, value), three adjacent tensors in checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "simile/kernel/vector_kernels.h"

namespace simile {

// Pooling modes (pooling.h), in the order in which sentence-transformers' older schema joins them.
enum class PoolingMode { kCls, kMax, kMean, kMeanSqrtLength, kWeightedMean, kLastToken };

// The differences between families of encoders (default: BERT); encoder_forward.h explains them.
struct EncoderVariant {
  // There is nothing but the word embedding, and one hidden state a sequence: the mean of its
  // tokens' rows (sequence_encoders.h). Sizes: hidden, vocabulary, positions (longest sequence).
  bool averaged = false;
  int64_t embedding = 0;         // E, width of the embeddings; 0: H
  bool projected = false;        // a linear map E -> H after the embeddings' LayerNorm
  int64_t position_offset = 0;   // row of the position table that the first token takes
  float rotary_base = 0;         // above 0: rotary positions in place of the position table
  float local_rotary_base = 0;   // the same in local layers
  int64_t local_window = 0;      // local layers see so many tokens to each side; 0: none is local
  int64_t global_every = 1;      // layers 0, n, 2n ... are global, the others local
  int64_t relative_buckets = 0;  // above 0: scores are shifted by the distance of two tokens
  bool pre_norm = false;         // LayerNorm before attention and feed-forward, and a final one
  bool shared_layers = false;    // one layer's weights serve all
  Activation activation = Activation::kGelu;
  bool gated = false;            // feed-forward act(gate x) * (up x)
  bool attention_bias = true;    // of query, key, value and of the output projection
  bool up_bias = true;           // of the feed-forward's first product
  bool down_bias = true;         // of its second
  bool norm_bias = true;         // of every LayerNorm
  bool fused_qkv = false;        // how checkpoints keep query, key and value: as one tensor
  bool fused_gate = false;       // and gate and up
  bool inner_dropout = false;    // dropout before the feed-forward's second product, not behind it
  bool attended_dropout = true;  // dropout on the output of attention
  bool output_dropout = true;    // and on that of the feed-forward
};

struct EncoderShape : EncoderVariant {
  int64_t layers = 0;
  int64_t hidden = 0;        // H
  int64_t heads = 0;         // divides hidden
  int64_t intermediate = 0;  // I
  int64_t vocabulary = 0;    // V
  int64_t positions = 0;     // rows of the position table; rotary: longest sequence
  int64_t types = 0;         // rows of the token type embedding; 0: there is none
  float layer_norm_eps = 1e-12f;

  int64_t head_size() const { return heads > 0 ? hidden / heads : 0; }
  int64_t embedding_size() const { return embedding > 0 ? embedding : hidden; }  // E
  int64_t up_size() const { return gated ? 2 * intermediate : intermediate; }    // U
  int64_t stored_layers() const { return shared_layers && layers > 0 ? 1 : layers; }
  bool has_position_table() const { return rotary_base <= 0 && !averaged; }
  int64_t longest_sequence() const {  // tokens
    return has_position_table() ? positions - position_offset : positions;
  }
  bool is_local(int64_t layer) const { return local_window > 0 && layer % global_every != 0; }
};

// Pointers to one layer's weights; T is `const float` or `float`. Null: it has none.
template <typename T>
struct LayerPointers {
  T* qkv_weight;             // [3H, H]
  T* qkv_bias;               // [3H]
  T* attention_weight;       // [H, H], the attention's output projection
  T* attention_bias;         // [H]
  T* attention_norm_weight;  // [H]; with pre_norm that before the attention
  T* attention_norm_bias;    // [H]
  T* up_weight;              // [U, H]; gated: I rows of the gate, then I of what it multiplies
  T* up_bias;                // [U]
  T* down_weight;            // [H, I]
  T* down_bias;              // [H]
  T* output_norm_weight;     // [H]; with pre_norm that before the feed-forward
  T* output_norm_bias;       // [H]
};

template <typename T>
struct EncoderPointers {
  T* word;                               // [V, E]
  T* position;                           // [positions, E]
  T* type;                               // [types, E]
  T* norm_weight;                        // [E]
  T* norm_bias;                          // [E]
  T* projection_weight;                  // [H, E]
  T* projection_bias;                    // [H]
  T* relative;                           // [relative_buckets, heads]
  T* final_norm_weight;                  // [H]
  T* final_norm_bias;                    // [H]
  std::vector<LayerPointers<T>> layers;  // all the same when layers are shared
};

struct EncoderWeights : EncoderPointers<const float> {
  // The word embedding in half precision, with a null `word`. Rows become floats when used.
  const uint16_t* half_word = nullptr;
};
using EncoderGradients = EncoderPointers<float>;

// The word embedding [E] of `id`; a row of halves is put in `row` [E] first.
const float* word_row(const EncoderWeights& weights, int64_t E, int64_t id, float* row);

// One tensor of the flat array. Its name is the one BERT checkpoints give it
// ("encoder.layer.0.attention.self.query.weight"); tensors that BERT lacks are called
// "embeddings_project", "encoder.relative_attention_bias", "final_norm", "attention.self.qkv",
// "intermediate.gate" with "intermediate.value", or fused "intermediate.gate_value".
struct ParameterSlot {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // floats from the start of the array
  int64_t size = 0;    // floats
  bool decays = true;  // weight decay applies: not to biases (of scores either) and LayerNorm
  int64_t layer = -1;  // that it is part of; -1: of none
};

// Every tensor of the encoder, adjacent, in the flat array's order.
std::vector<ParameterSlot> encoder_layout(const EncoderShape& shape);

// Floats of the whole array.
int64_t encoder_parameter_count(const EncoderShape& shape);

// Pointers into a flat array laid out by encoder_layout(); T is `float`, `const float` or, for
// tests, `const double`.
template <typename T>
EncoderPointers<T> encoder_pointers(const EncoderShape& shape, T* flat);
EncoderWeights encoder_weights(const EncoderShape& shape, const float* flat);
EncoderGradients encoder_gradients(const EncoderShape& shape, float* flat);

// Pointers to separate tensors: places[i] is that of slot i of encoder_layout(). Tensors that are
// one matrix here and several slots (query, key, value) must be adjacent.
EncoderWeights encoder_weights_at(const EncoderShape& shape,
                                  const std::vector<const float*>& places);

// A matrix [rows, k] in bytes, as quantise_rows() makes them.
struct ByteMatrix {
  const int8_t* numbers = nullptr;
  const float* scales = nullptr;  // [rows]
};

// The weights of one layer. For products of bytes a matrix may be in bytes already; others have
// null numbers here, and only then their floats are read.
struct LayerMatrices : LayerPointers<const float> {
  LayerMatrices(const LayerPointers<const float>& floats) : LayerPointers<const float>(floats) {}

  ByteMatrix qkv, attention, up, down;
};

// Gives an encoder for inference a layer's matrices, which may be gone once it is called again.
using LayerReader = std::function<LayerMatrices(int64_t layer)>;

}  // namespace simile
