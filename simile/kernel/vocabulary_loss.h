// SPDX-License-Identifier: Apache-2.0
// Cross-entropy of a softmax over the vocabulary whose output matrix is the word embedding.
//
// For row i with state h_i [H] and target t_i: logits z_i = E h_i + b, loss_i = log sum_v exp(z_iv)
// - z_i,t (Devlin et al. 2019, section 3.1, with tied embeddings). The vocabulary is walked in
// chunks of kVocabularyChunk words, twice: once for the sums of exponentials, once for the
// gradients, which recomputes the logits. Memory: 4 bytes * threads * rows * kVocabularyChunk for
// logits, and 4 bytes * rows * H for each of kVocabularyGroups parts of the states' gradient; never
// rows * V.
//
// The products with E, and with the states for E's gradient, are of floats or of numbers rounded to
// bfloat16; all else is in float. Results do not depend on the number of threads. Threads:
// simile::thread_count(), at most kVocabularyGroups.
#pragma once

#include <cstdint>

#include "simile/core/memory.h"
#include "simile/kernel/matrix_product.h"

namespace simile {

constexpr int64_t kVocabularyChunk = 512;
constexpr int64_t kVocabularyGroups = 8;

struct VocabularyLossCall {
  int64_t rows, hidden, vocabulary;
  const float* states;     // [rows, H]
  const int32_t* targets;  // [rows], each below vocabulary
  const float* embedding;  // [V, H]
  const float* bias;       // [V]
  // Gradients of gradient_scale * sum of the losses; all null for the loss alone.
  float gradient_scale;
  float* state_gradients;      // [rows, H], written
  float* embedding_gradients;  // [V, H], added to
  float* bias_gradients;       // [V], added to
  ProductType products = ProductType::kFloat;
};

struct VocabularyLoss {
  double sum = 0;       // of the losses of all rows, in nats
  int64_t correct = 0;  // rows whose target has the largest logit
};

// `memory` is reused from call to call. Errors: kInput for a target outside the vocabulary; kFailed
// without memory, or for products that this processor has no instructions for.
VocabularyLoss vocabulary_loss(const VocabularyLossCall& call, FloatBuffer& memory);

}  // namespace simile
