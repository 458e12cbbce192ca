// SPDX-License-Identifier: Apache-2.0
// WordLevel: each word is one token of the vocabulary or the unknown token.
#pragma once

#include <string>

#include "simile/text/token_model.h"

namespace simile {

class WordLevel : public TokenModel {
 public:
  // Errors (kInput, naming `source`): the unknown token is not in the vocabulary.
  WordLevel(Vocabulary vocabulary, const std::string& unknown_token, const std::string& source);

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return unknown_id_; }

 private:
  Vocabulary vocabulary_;
  int32_t unknown_id_ = -1;
};

}  // namespace simile
