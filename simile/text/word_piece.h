// SPDX-License-Identifier: Apache-2.0
// WordPiece: each word is cut from left to right into the longest tokens of the vocabulary, those
// after the first being written with a prefix ("##"). A word that cannot be cut completely, or that
// is too long, becomes one unknown token.
//
// Schuster and Nakajima, "Japanese and Korean Voice Search", ICASSP 2012; the greedy cut is that of
// Devlin et al., "BERT", NAACL 2019 (their code, tokenization.py).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/token_model.h"

namespace simile {

struct WordPieceSettings {
  std::string unknown_token = "[UNK]";
  std::string continuing_prefix = "##";
  int64_t max_characters_per_word = 100;
};

class WordPiece : public TokenModel {
 public:
  // Errors (kInput, naming `source`): the unknown token is not in the vocabulary.
  WordPiece(Vocabulary vocabulary, const WordPieceSettings& settings, const std::string& source);

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return unknown_id_; }

 private:
  // Two tables in one: the tokens as they are, and those that begin with the prefix without it.
  struct Slot {
    uint32_t tag = 0;  // high half of the hash
    int32_t id = -1;   // -1: free
  };

  void insert(int32_t id, bool continuing);
  int32_t find(uint64_t hash, std::string_view piece, bool continuing) const;
  bool cut_word(std::string_view text, Span word, std::vector<Token>& tokens) const;

  Vocabulary vocabulary_;
  WordPieceSettings settings_;
  int32_t unknown_id_ = -1;
  size_t max_piece_bytes_ = 0;
  std::vector<Slot> slots_;  // open addressing, a power of two
};

}  // namespace simile
