// SPDX-License-Identifier: Apache-2.0
// Documents cut into passages (simile/text/passages.h) that a model reads whole.
#pragma once

#include <string>
#include <vector>

#include "simile/encode/sentence_encoder.h"
#include "simile/index/document_store.h"
#include "simile/text/passages.h"

namespace simile {

class PassageSplitter {
 public:
  // `encode` names the prompt that will stand before texts. Errors (kUsage): passages that are
  // longer than the model reads, with the prompt and special tokens; those of check_passages().
  PassageSplitter(const SentenceEncoder& encoder, const PassageOptions& passages,
                  const EncodeOptions& encode);

  // Sets the passages of documents, in parallel.
  void split(std::vector<Document>& documents) const;

 private:
  Tokenizer tokenizer_;
  PassageOptions passages_;
  bool lower_case_;
};

// What the vectors of documents are made of, one after the other.
std::vector<std::string> texts_of_vectors(const std::vector<Document>& documents);

}  // namespace simile
