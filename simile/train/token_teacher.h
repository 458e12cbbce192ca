// SPDX-License-Identifier: Apache-2.0
// A frozen model that teaches a student token by token.
//
//   (1/tokens) Σ_t (1 - cos(h_t, a_t))
//
// h_t: the student's last hidden state of token t; a_t: the teacher's of the same token in the same
// text. A vector of a text is one lesson, its tokens are some twenty: a student with random layers
// learns from them in a fraction of the texts. The idea is that of Sun et al., "Patient Knowledge
// Distillation for BERT Model Compression", 2019, for all tokens.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "simile/encode/sentence_encoder.h"

namespace simile {

class TokenTeacher {
 public:
  // `model`: a model folder or a built-in model; `precision` of its products. Errors (kRecipe): an
  // averaging teacher, one with another hidden size than `student`, or without a token that the
  // student's tokenizer has. Others: as SentenceEncoder::load().
  TokenTeacher(const std::string& model, const std::string& precision, const Tokenizer& tokenizer,
               const ModelSettings& student, EventSink& events);

  // One number. `hidden` [tokens, H] are the student's states of the batch, on any device;
  // gradients flow to them. Errors (kInput): a text that is longer than the teacher reads.
  torch::Tensor loss(const torch::Tensor& hidden, const PackedBatch& batch) const;

 private:
  SentenceEncoder teacher_;
  std::vector<int32_t> ids_;  // the teacher's, of the student's
};

}  // namespace simile
