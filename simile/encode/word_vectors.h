// SPDX-License-Identifier: Apache-2.0
// The baseline that leaves the encoder out: a text is the mean of its tokens' word embeddings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/core/matrix.h"
#include "simile/text/tokenizer.h"

namespace simile {

class LoadedEncoder;
struct ModelFolder;

class WordVectors {
 public:
  // The word embedding and the tokenizer of a model folder; the layers are not read. Errors: as
  // SentenceEncoder::load().
  static WordVectors load(const std::string& folder, EventSink& events);

  // Means [texts, E], without special tokens and prompt; zeros for a text without tokens. Several
  // threads may call it at once.
  Matrix<float> means(const std::vector<std::string>& texts) const;

 private:
  WordVectors(const ModelFolder& model, EventSink& events);

  std::shared_ptr<const LoadedEncoder> loaded_;
  bool lower_case_;
  Tokenizer tokenizer_;
};

}  // namespace simile
