// SPDX-License-Identifier: Apache-2.0
#include "simile/encode/predictor.h"

#include "simile/core/check.h"

namespace simile {

Predictor::Predictor(const SentenceEncoder& encoder, const Head& head)
    : encoder_(encoder), head_(head) {
  const int64_t hidden = encoder.settings().embedding_size();
  SIMILE_CHECK(head.embedding_size() == hidden, ErrorKind::kInput,
               "head '{}' takes embeddings of size {}, the encoder's have {}", head.settings().name,
               head.embedding_size(), hidden);
}

Matrix<float> Predictor::predict(const std::vector<std::string>& texts,
                                 const std::vector<std::string>& pairs,
                                 const EncodeOptions& options, EventSink& events,
                                 EncodeCounts* counts, std::vector<double>* similarities) const {
  const HeadSettings& settings = head_.settings();
  const size_t expected = head_takes_pairs(settings) ? texts.size() : 0;
  SIMILE_CHECK(pairs.size() == expected, ErrorKind::kInput,
               "head '{}' of input {}: expected {} second texts for {} texts, found {}",
               settings.name, settings.input, expected, texts.size(), pairs.size());
  EncodeOptions whole = options;
  whole.normalize = false;
  whole.dimensions = head_.embedding_size();
  if (settings.input == "joint") {
    return head_.logits(encoder_.encode_pairs(texts, pairs, whole, events, counts));
  }
  const Matrix<float> u = encoder_.encode(texts, whole, events, counts);
  if (similarities != nullptr && head_.scope) *similarities = head_.scope->similarities(u);
  if (settings.input == "single") return head_.logits(u);
  return head_.logits(u, encoder_.encode(pairs, whole, events, counts));
}

}  // namespace simile
