// SPDX-License-Identifier: Apache-2.0
#include "simile/kernel/masked_lm.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "simile/core/check.h"
#include "simile/core/parallel.h"
#include "simile/core/random.h"
#include "simile/kernel/vector_kernels.h"

namespace simile {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kVocabularyChunk = 512;
constexpr int64_t kVocabularyGroups = 8;

// The sums for a row's softmax, over the words seen so far.
struct RowSums {
  float maximum = -std::numeric_limits<float>::infinity();
  double sum = 0;  // of exp(logit - maximum)
  float target = -std::numeric_limits<float>::infinity();
};

void merge(const RowSums& other, RowSums& sums) {
  if (other.sum == 0) return;  // a group without words
  const float maximum = std::max(sums.maximum, other.maximum);
  sums.sum = sums.sum * std::exp(static_cast<double>(sums.maximum - maximum)) +
             other.sum * std::exp(static_cast<double>(other.maximum - maximum));
  sums.maximum = maximum;
  sums.target = std::max(sums.target, other.target);
}

class VocabularyPass {
 public:
  VocabularyPass(const VocabularyLossCall& call, FloatBuffer& memory)
      : call_(call),
        kernels_(vector_kernels()),
        products_(call.products),
        threads_(std::min<int>(thread_count(), kVocabularyGroups)),
        chunks_((call.vocabulary + kVocabularyChunk - 1) / kVocabularyChunk),
        row_places_(products_.token_places(call.rows)),
        row_sums_(static_cast<size_t>(kVocabularyGroups * call.rows)) {
    const int64_t width = kVocabularyChunk;
    const int64_t panel_floats = std::max(products_.panel_floats(width, call.hidden),
                                          products_.panel_floats(call.hidden, width));
    const int64_t left_floats =
        products_.is_rounded() ? products_.panel_floats(width, row_places_) : 0;
    thread_floats_ = call.rows * width + panel_floats + left_floats;
    state_panel_floats_ = products_.panel_floats(call.hidden, row_places_);
    const int64_t group_floats = kVocabularyGroups * call.rows * call.hidden;
    // All but the last are whole cache lines.
    thread_memory_ = memory.reserve(threads_ * thread_floats_ + state_panel_floats_ + group_floats);
    state_panels_ = thread_memory_ + threads_ * thread_floats_;
    group_gradients_ = state_panels_ + state_panel_floats_;
  }

  VocabularyLoss run() {
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (int64_t group = 0; group < kVocabularyGroups; ++group) {
      for (int64_t chunk = first_chunk(group); chunk < first_chunk(group + 1); ++chunk) {
        add_chunk(chunk, row_sums_.data() + group * call_.rows);
      }
    }
    for (int64_t group = 1; group < kVocabularyGroups; ++group) {
      for (int64_t i = 0; i < call_.rows; ++i) {
        merge(row_sums_[group * call_.rows + i], row_sums_[i]);
      }
    }
    VocabularyLoss loss;
    for (int64_t i = 0; i < call_.rows; ++i) {
      const RowSums& sums = row_sums_[i];
      loss.sum += std::log(sums.sum) + static_cast<double>(sums.maximum - sums.target);
      loss.correct += sums.target >= sums.maximum ? 1 : 0;
    }
    return loss;
  }

  void run_backward() {
    products_.pack_tokens(call_.states, call_.hidden, call_.hidden, row_places_, 0, call_.rows,
                          state_panels_);
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (int64_t group = 0; group < kVocabularyGroups; ++group) {
      float* gradients = group_gradients_ + group * call_.rows * call_.hidden;
      std::memset(gradients, 0, static_cast<size_t>(call_.rows * call_.hidden) * sizeof(float));
      for (int64_t chunk = first_chunk(group); chunk < first_chunk(group + 1); ++chunk) {
        add_chunk_gradients(chunk, gradients);
      }
    }
    const int64_t size = call_.rows * call_.hidden;
    std::memcpy(call_.state_gradients, group_gradients_, static_cast<size_t>(size) * sizeof(float));
    for (int64_t group = 1; group < kVocabularyGroups; ++group) {
      kernels_.add_to(size, group_gradients_ + group * size, call_.state_gradients);
    }
  }

 private:
  int64_t first_chunk(int64_t group) const { return chunks_ * group / kVocabularyGroups; }
  int64_t first_word(int64_t chunk) const { return chunk * kVocabularyChunk; }
  int64_t width(int64_t chunk) const {
    return std::min(kVocabularyChunk, call_.vocabulary - first_word(chunk));
  }
  float* panels_behind(float* logits) const { return logits + call_.rows * kVocabularyChunk; }
  float* own_memory() const { return thread_memory_ + omp_get_thread_num() * thread_floats_; }

  // Logits [rows, width] of the chunk's words; behind them lies the memory for panels.
  float* logits(int64_t chunk) const {
    float* logits = own_memory();
    float* const panels = panels_behind(logits);
    const int64_t n = width(chunk), word = first_word(chunk);
    products_.pack_rows(call_.embedding + word * call_.hidden, n, call_.hidden, call_.hidden,
                        panels);
    products_.multiply({call_.rows, n, call_.hidden, call_.states, call_.hidden, panels, logits, n,
                        call_.bias + word});
    return logits;
  }

  void add_chunk(int64_t chunk, RowSums* row_sums) const {
    float* z = logits(chunk);
    const int64_t n = width(chunk), word = first_word(chunk);
    for (int64_t i = 0; i < call_.rows; ++i, z += n) {
      RowSums sums;
      sums.maximum = largest(z, n);
      const int64_t target = call_.targets[i] - word;
      if (target >= 0 && target < n) sums.target = z[target];
      sums.sum = exponentials(z, n, sums.maximum);
      merge(sums, row_sums[i]);
    }
  }

  // In lanes, so that compilers use vectors.
  static float largest(const float* z, int64_t n) {
    float partial[kLanes];
    std::fill_n(partial, kLanes, -std::numeric_limits<float>::infinity());
    for (int64_t j = 0; j + kLanes <= n; j += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) partial[k] = std::max(partial[k], z[j + k]);
    }
    for (int64_t j = n / kLanes * kLanes; j < n; ++j) partial[0] = std::max(partial[0], z[j]);
    return *std::max_element(partial, partial + kLanes);
  }

  // z = exp(z - shift); returns the sum.
  float exponentials(float* z, int64_t n, float shift) const {
    for (int64_t j = 0; j < n; ++j) z[j] = std::min(z[j] - shift, 0.0f);
    kernels_.exponential(n, z, z);
    float partial[kLanes] = {};
    for (int64_t j = 0; j + kLanes <= n; j += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) partial[k] += z[j + k];
    }
    for (int64_t j = n / kLanes * kLanes; j < n; ++j) partial[0] += z[j];
    float sum = 0;
    for (const float part : partial) sum += part;
    return sum;
  }

  void add_chunk_gradients(int64_t chunk, float* state_gradients) const {
    float* z = logits(chunk);
    const int64_t n = width(chunk), word = first_word(chunk), H = call_.hidden;
    for (int64_t i = 0; i < call_.rows; ++i) softmax_gradient(i, word, n, z + i * n);
    float* const panels = panels_behind(z);
    products_.pack_columns(call_.embedding + word * H, H, n, H, panels);
    products_.multiply({call_.rows, H, n, z, n, panels, state_gradients, H, nullptr, true});
    const float* dy = z;
    if (products_.is_rounded()) {
      float* const left = panels + products_.panel_floats(H, n);
      products_.pack_left(z, n, row_places_, 0, call_.rows, left);
      dy = left;
    }
    products_.add_gradient({dy, n, state_panels_, call_.embedding_gradients + word * H, n, H},
                           row_places_);
    kernels_.column_sums(call_.rows, n, z, n, call_.bias_gradients + word);
  }

  // z becomes gradient_scale * (softmax(z) - [target]).
  void softmax_gradient(int64_t row, int64_t word, int64_t n, float* z) const {
    const RowSums& sums = row_sums_[row];
    const auto factor = static_cast<float>(call_.gradient_scale / sums.sum);
    exponentials(z, n, sums.maximum);
    for (int64_t j = 0; j < n; ++j) z[j] *= factor;
    const int64_t target = call_.targets[row] - word;
    if (target >= 0 && target < n) z[target] -= call_.gradient_scale;
  }

  const VocabularyLossCall& call_;
  const VectorKernels& kernels_;
  MatrixProducts products_;
  int threads_;
  int64_t chunks_;
  int64_t row_places_;  // of panels over rows
  int64_t thread_floats_, state_panel_floats_;
  std::vector<RowSums> row_sums_;  // [groups, rows]; after run(), the first rows are the totals
  float* state_panels_;
  float* group_gradients_;  // [groups, rows, H]
  float* thread_memory_;    // [threads, thread_floats_]
};

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

VocabularyLoss vocabulary_loss(const VocabularyLossCall& call, FloatBuffer& memory) {
  for (int64_t i = 0; i < call.rows; ++i) {
    SIMILE_CHECK(call.targets[i] >= 0 && call.targets[i] < call.vocabulary, ErrorKind::kInput,
                 "target " + std::to_string(call.targets[i]) + " is not one of the " +
                     std::to_string(call.vocabulary) + " words of the vocabulary");
  }
  if (call.rows == 0) return {};
  VocabularyPass pass(call, memory);
  const VocabularyLoss loss = pass.run();
  if (call.state_gradients != nullptr) pass.run_backward();
  return loss;
}

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
    for (float** part : {&hidden, &dense, &gelu, &normalized, &state, &gradient}) {
      *part = next;
      next += size;
    }
    inverse_deviation = next;
    panels = next + masked;
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
  kernels.matmul({rows.count, H, H, rows.hidden, H, rows.panels, rows.dense, H, head + at.bias});
  kernels.activate({Activation::kGelu, false, rows.count, H, rows.dense, rows.gelu});
  kernels.norm({rows.count, H, rows.gelu, nullptr, nullptr, 1, head + at.norm_weight,
                head + at.norm_bias, shape_.layer_norm_eps, rows.state, rows.normalized,
                rows.inverse_deviation});
}

void MaskedLm::backward(const float* head, const Rows& rows, float* head_gradients) {
  const VectorKernels& kernels = vector_kernels();
  const int64_t H = shape_.hidden;
  const HeadOffsets at(H);
  kernels.norm_backward({rows.count, H, rows.gradient, rows.normalized, rows.inverse_deviation,
                         head + at.norm_weight, nullptr, 1, rows.gradient, nullptr,
                         head_gradients + at.norm_weight, head_gradients + at.norm_bias, nullptr});
  kernels.activate_backward({Activation::kGelu, false, rows.count, H, rows.dense, rows.gelu},
                            {rows.gradient, rows.gradient, head_gradients + at.bias});
  kernels.pack_columns(rows.hidden, H, rows.count, H, rows.panels);
  kernels.matmul_transposed(
      {H, H, rows.count, rows.gradient, H, rows.panels, head_gradients, H, nullptr, true});
  kernels.pack_columns(head, H, H, H, rows.panels);
  kernels.matmul({rows.count, H, H, rows.gradient, H, rows.panels, rows.state, H});
}

VocabularyLoss MaskedLm::operator()(const float* head, const float* embedding, const float* hidden,
                                    int64_t tokens, const MaskedTokens& masked,
                                    const MaskedLmGradients* gradients) {
  const int64_t H = shape_.hidden;
  const auto row_bytes = static_cast<size_t>(H) * sizeof(float);
  const HeadOffsets at(H);
  const Rows rows(shape_, masked.size(), memory_);
  for (int64_t i = 0; i < rows.count; ++i) {
    std::memcpy(rows.hidden + i * H, hidden + masked.positions[i] * H, row_bytes);
  }
  if (rows.count > 0) forward(head, rows);
  VocabularyLossCall call{rows.count,          H,         shape_.vocabulary, rows.state,
                          masked.words.data(), embedding, head + at.decoder};
  call.products = products_;
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
    std::memcpy(gradients->hidden + masked.positions[i] * H, rows.state + i * H, row_bytes);
  }
  return loss;
}

}  // namespace simile
