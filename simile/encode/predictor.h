// SPDX-License-Identifier: Apache-2.0
// Texts in, logits of a task head out: single texts, pairs embedded apart, or pairs as one
// sequence.
//
//   const Predictor predictor(encoder, head);
//   const Matrix<float> logits = predictor.predict(texts, {}, {}, silent_events());
//   const Matrix<float> probabilities = head_probabilities(head.settings(), logits);
//
// Logits are the same, bit for bit, whatever texts come with them and with however many threads.
// Const methods may run in several threads at once.
#pragma once

#include <string>
#include <vector>

#include "simile/encode/head.h"
#include "simile/encode/sentence_encoder.h"

namespace simile {

class Predictor {
 public:
  // Both must outlive the predictor. Errors (kInput): a head for another size of embedding.
  Predictor(const SentenceEncoder& encoder, const Head& head);

  // Logits [texts, k]. `pairs` holds the second text of each where the head takes pairs (input pair
  // or joint), else nothing. Of `options`, batch_tokens and the prompts count, which a joint input
  // does not have; heads see whole embeddings before Normalize. Progress: task "embed".
  // `similarities` becomes that of each text to the head's classes (ClassScope), or stays empty.
  // Errors (kInput): pairs missing, not wanted or of another number; else as encode().
  Matrix<float> predict(const std::vector<std::string>& texts,
                        const std::vector<std::string>& pairs, const EncodeOptions& options,
                        EventSink& events, EncodeCounts* counts = nullptr,
                        std::vector<double>* similarities = nullptr) const;

 private:
  const SentenceEncoder& encoder_;
  const Head& head_;
};

}  // namespace simile
