// SPDX-License-Identifier: Apache-2.0
// The masked-language-model head of BERT (Devlin et al. 2019, section 3.1) and its loss, of tokens:
//
//   s = LayerNorm(gelu(W h + c));   loss = log sum_v exp(z_v) - z_t,   z = E s + b
//
// t being the word meant and E [V, H] the encoder's word embedding. The head's own weights are one
// flat array in the order of masked_lm_layout(), named as in BERT checkpoints (cls.predictions...).
//
// The vocabulary is walked in chunks of 512 words, twice: once for the sums of exponentials, once
// for the gradients, which recomputes the logits. Memory: 4 bytes * threads * rows * 512 for
// logits, and 4 bytes * rows * H for each of 8 parts of the states' gradient; never rows * V.
// Threads: simile::thread_count(), at most 8. Results do not depend on their number.
//
// The products with E, and with the states for E's gradient, are of floats or of numbers rounded to
// bfloat16; all else is in float. Errors: kInput for an encoder whose embeddings are not as wide as
// its hidden states, and for a word outside the vocabulary; kFailed without memory, or for products
// that this processor has no instructions for.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/memory.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

// The cross-entropy of some rows: its states s, and where its gradients go.
struct VocabularyLossCall {
  int64_t rows, hidden, vocabulary;
  const float* states;     // [rows, H]
  const int32_t* targets;  // [rows], each below vocabulary
  const float* embedding;  // [V, H]
  const float* bias;       // [V]
  // Gradients of gradient_scale * sum of the losses; all null for the loss alone.
  float gradient_scale = 1;
  float* state_gradients = nullptr;      // [rows, H], written
  float* embedding_gradients = nullptr;  // [V, H], added to
  float* bias_gradients = nullptr;       // [V], added to
  ProductType products = ProductType::kFloat;
};

struct VocabularyLoss {
  double sum = 0;       // of the losses of all rows, in nats
  int64_t correct = 0;  // rows whose target has the largest logit
};

// `memory` is reused from call to call.
VocabularyLoss vocabulary_loss(const VocabularyLossCall& call, FloatBuffer& memory);

std::vector<ParameterSlot> masked_lm_layout(const EncoderShape& shape);
int64_t masked_lm_parameter_count(const EncoderShape& shape);

// W from a normal distribution of deviation 0.02, LayerNorm's weight 1, the rest 0.
void initialise_masked_lm_weights(const EncoderShape& shape, uint64_t seed, float* flat);

// The tokens to predict.
struct MaskedTokens {
  std::vector<int32_t> positions;  // rows of the hidden states
  std::vector<int32_t> words;      // the ids meant there

  int64_t size() const { return static_cast<int64_t>(positions.size()); }
};

struct MaskedLmGradients {
  float scale = 1;   // of the sum of losses
  float* hidden;     // [tokens, H], written: zero but at the positions
  float* head;       // flat, added to
  float* embedding;  // [V, H], added to
};

// The losses of `masked` with `hidden` [tokens, H]; `gradients` may be null.
class MaskedLm {
 public:
  explicit MaskedLm(const EncoderShape& shape, ProductType products = ProductType::kFloat);

  VocabularyLoss operator()(const float* head, const float* embedding, const float* hidden,
                            int64_t tokens, const MaskedTokens& masked,
                            const MaskedLmGradients* gradients);

 private:
  struct Rows;
  void forward(const float* head, const Rows& rows);
  void backward(const float* head, const Rows& rows, float* head_gradients);

  EncoderShape shape_;
  ProductType products_;
  FloatBuffer memory_, loss_memory_;
};

}  // namespace simile
