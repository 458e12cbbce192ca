// SPDX-License-Identifier: Apache-2.0
// The third step of tokenising: turning words into tokens of a vocabulary.
//
// A model is an immutable object, safe to use from several threads. It is made from the "model" of
// a tokenizer.json by the table in detail/components.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/normalized_text.h"
#include "simile/text/vocabulary.h"

namespace simile {

struct Token {
  int32_t id = 0;
  Span span;  // bytes of the normalised text
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of `words`, which are parts of `text` in order. May stop after a word once
  // `tokens` holds `limit` of them or more.
  virtual void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                        std::vector<Token>& tokens) const = 0;
  // The same for words whose bytes stand for byte-level characters (byte_level.h). False, with
  // nothing appended: this model reads characters only.
  virtual bool tokenize_bytes(std::string_view /*text*/, const std::vector<Span>& /*words*/,
                              size_t /*limit*/, std::vector<Token>& /*tokens*/) const {
    return false;
  }
  virtual const Vocabulary& vocabulary() const = 0;
  virtual int32_t unknown_id() const = 0;
};

}  // namespace simile
