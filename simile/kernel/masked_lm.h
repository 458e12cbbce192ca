// SPDX-License-Identifier: Apache-2.0
// The masked-language-model head of BERT (Devlin et al. 2019, section 3.1) and its loss, for some
// tokens of a batch:
//
//   s = LayerNorm(gelu(W h + c));   loss = cross-entropy of softmax(E s + b) with the word meant
//
// E being the encoder's word embedding; products with it in floats or in bfloat16
// (vocabulary_loss.h). The head's own weights are one flat array in the order of
// masked_lm_layout(), under the names that BERT checkpoints give them (cls.predictions...).
// Results do not depend on the number of threads. Errors: kInput for an encoder whose embeddings
// are not as wide as its hidden states, E not being [V, H] then.
#pragma once

#include <cstdint>
#include <vector>

#include "simile/core/memory.h"
#include "simile/kernel/encoder_parameters.h"
#include "simile/kernel/vocabulary_loss.h"

namespace simile {

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
