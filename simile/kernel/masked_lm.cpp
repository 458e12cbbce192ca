// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/masked_lm.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

// Offsets into the head's flat array, in the order of the layout.
struct HeadOffsets {
  explicit HeadOffsets(int64_t H)
      : bias(H * H), norm_weight(bias + H), norm_bias(norm_weight + H), decoder(norm_bias + H) {}
  int64_t bias, norm_weight, norm_bias, decoder;
};

void check_embedding(const EncoderShape& shape) {
  SIMILE_CHECK(shape.embedding_size() == shape.hidden, ErrorKind::kInput,
               "masked language model: the encoder's embeddings have " +
                   std::to_string(shape.embedding_size()) + " numbers, its hidden states " +
                   std::to_string(shape.hidden) +
                   "; pre-training needs a model where both are the same");
}

}  // namespace

MaskedLm::MaskedLm(const EncoderShape& shape, ProductType products)
    : shape_(shape), products_(products) {
  check_embedding(shape);
}

std::vector<ParameterSlot> masked_lm_layout(const EncoderShape& shape) {
  check_embedding(shape);
  const int64_t H = shape.hidden;
  const HeadOffsets at(H);
  const std::string transform = "cls.predictions.transform.";
  return {{transform + "dense.weight", {H, H}, 0, H * H, true},
          {transform + "dense.bias", {H}, at.bias, H, false},
          {transform + "LayerNorm.weight", {H}, at.norm_weight, H, false},
          {transform + "LayerNorm.bias", {H}, at.norm_bias, H, false},
          {"cls.predictions.bias", {shape.vocabulary}, at.decoder, shape.vocabulary, false}};
}

int64_t masked_lm_parameter_count(const EncoderShape& shape) {
  return HeadOffsets(shape.hidden).decoder + shape.vocabulary;
}

void initialise_masked_lm_weights(const EncoderShape& shape, uint64_t seed, float* flat) {
  constexpr double kDeviation = 0.02;
  const HeadOffsets at(shape.hidden);
  std::fill_n(flat, masked_lm_parameter_count(shape), 0.0f);
  RandomStream stream(seed, "initialise masked-language-model head");
  for (int64_t i = 0; i < at.bias; ++i) flat[i] = static_cast<float>(kDeviation * stream.normal());
  std::fill_n(flat + at.norm_weight, shape.hidden, 1.0f);
}

// Memory of one call; all [masked, H] but where said.
struct MaskedLm::Rows {
  Rows(const EncoderShape& shape, int64_t masked, FloatBuffer& memory) : count(masked) {
    const int64_t H = shape.hidden, size = masked * H;
    const VectorKernels& kernels = vector_kernels();
    const int64_t panel = std::max(panel_floats(kernels, H, H), panel_floats(kernels, H, masked));
    float* next = memory.reserve(6 * size + masked + panel);
    const auto take = [&](int64_t floats) {
      float* taken = next;
      next += floats;
      return taken;
    };
    hidden = take(size);
    dense = take(size);
    gelu = take(size);
    normalized = take(size);
    state = take(size);
    gradient = take(size);
    inverse_deviation = take(masked);
    panels = take(panel);
  }

  int64_t count;
  float* hidden;
  float* dense;  // W h + c
  float* gelu;
  float* normalized;
  float* state;              // s
  float* gradient;           // of s, then of gelu, then of dense
  float* inverse_deviation;  // [masked]
  float* panels;             // of W, or of `hidden`
};

void MaskedLm::forward(const float* head, const Rows& rows) {
  const VectorKernels& kernels = vector_kernels();
  const int64_t H = shape_.hidden;
  const HeadOffsets at(H);
  kernels.pack_rows(head, H, H, H, rows.panels);
  kernels.matmul(
      {rows.count, H, H, rows.hidden, H, rows.panels, rows.dense, H, head + at.bias, false, false});
  kernels.activate({Activation::kGelu, false, rows.count, H, rows.dense, rows.gelu});
  NormCall norm{};
  norm.rows = rows.count;
  norm.width = H;
  norm.x = rows.gelu;
  norm.keep_scale = 1;
  norm.weight = head + at.norm_weight;
  norm.bias = head + at.norm_bias;
  norm.eps = shape_.layer_norm_eps;
  norm.y = rows.state;
  norm.normalized = rows.normalized;
  norm.inverse_deviation = rows.inverse_deviation;
  kernels.norm(norm);
}

void MaskedLm::backward(const float* head, const Rows& rows, float* head_gradients) {
  const VectorKernels& kernels = vector_kernels();
  const int64_t H = shape_.hidden;
  const HeadOffsets at(H);
  NormGradients norm{};
  norm.rows = rows.count;
  norm.width = H;
  norm.y = rows.gradient;
  norm.normalized = rows.normalized;
  norm.inverse_deviation = rows.inverse_deviation;
  norm.weight = head + at.norm_weight;
  norm.keep_scale = 1;
  norm.residual = rows.gradient;
  norm.weight_sum = head_gradients + at.norm_weight;
  norm.bias_sum = head_gradients + at.norm_bias;
  kernels.norm_backward(norm);
  kernels.activate_backward({Activation::kGelu, false, rows.count, H, rows.dense, rows.gelu},
                            {rows.gradient, rows.gradient, head_gradients + at.bias});
  kernels.pack_columns(rows.hidden, H, rows.count, H, rows.panels);
  kernels.matmul_transposed(
      {H, H, rows.count, rows.gradient, H, rows.panels, head_gradients, H, nullptr, true, false});
  kernels.pack_columns(head, H, H, H, rows.panels);
  kernels.matmul(
      {rows.count, H, H, rows.gradient, H, rows.panels, rows.state, H, nullptr, false, false});
}

VocabularyLoss MaskedLm::operator()(const float* head, const float* embedding, const float* hidden,
                                    int64_t tokens, const MaskedTokens& masked,
                                    const MaskedLmGradients* gradients) {
  const int64_t H = shape_.hidden;
  const auto row_bytes = static_cast<size_t>(H) * sizeof(float);
  const HeadOffsets at(H);
  const Rows rows(shape_, masked.size(), memory_);
  for (int64_t i = 0; i < rows.count; ++i) {
    std::memcpy(rows.hidden + i * H, hidden + masked.positions[static_cast<size_t>(i)] * H,
                row_bytes);
  }
  if (rows.count > 0) forward(head, rows);
  VocabularyLossCall call{rows.count,
                          H,
                          shape_.vocabulary,
                          rows.state,
                          masked.words.data(),
                          embedding,
                          head + at.decoder,
                          1,
                          nullptr,
                          nullptr,
                          nullptr,
                          products_};
  if (gradients != nullptr) {
    call.gradient_scale = gradients->scale;
    call.state_gradients = rows.gradient;
    call.embedding_gradients = gradients->embedding;
    call.bias_gradients = gradients->head + at.decoder;
  }
  const VocabularyLoss loss = vocabulary_loss(call, loss_memory_);
  if (gradients == nullptr) return loss;
  std::memset(gradients->hidden, 0, static_cast<size_t>(tokens) * row_bytes);
  if (rows.count == 0) return loss;
  backward(head, rows, gradients->head);
  for (int64_t i = 0; i < rows.count; ++i) {
    std::memcpy(gradients->hidden + masked.positions[static_cast<size_t>(i)] * H,
                rows.state + i * H, row_bytes);
  }
  return loss;
}

}  // namespace simile
