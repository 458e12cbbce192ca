// SPDX-License-Identifier: Apache-2.0
// The third step of tokenising: turning words into tokens of a vocabulary.
//
// A model is an immutable object, safe to use from several threads. make_model() makes it from the
// "model" of a tokenizer.json (detail/components.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/text/normalizer.h"
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
  // The same for words whose bytes represent byte-level characters (pre_tokenizer.h). False, with
  // nothing appended: this model reads characters only.
  virtual bool tokenize_bytes(std::string_view /*text*/, const std::vector<Span>& /*words*/,
                              size_t /*limit*/, std::vector<Token>& /*tokens*/) const {
    return false;
  }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  int32_t unknown_id() const { return unknown_id_; }

 protected:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

  Vocabulary vocabulary_;
  int32_t unknown_id_ = -1;  // -1: none
};

struct WordPieceSettings {
  std::string unknown_token = "[UNK]";
  std::string continuing_prefix = "##";
  int64_t max_characters_per_word = 100;
};

// WordPiece: each word is cut from left to right into the longest tokens of the vocabulary, those
// after the first being written with a prefix ("##"). A word that cannot be cut completely, or that
// is too long, becomes one unknown token.
//
// Schuster and Nakajima, "Japanese and Korean Voice Search", ICASSP 2012; the greedy cut is that of
// Devlin et al., "BERT", NAACL 2019 (their code, tokenization.py).
// Errors (kInput, naming `source`): the unknown token is not in the vocabulary.
std::unique_ptr<const TokenModel> make_word_piece(Vocabulary vocabulary,
                                                  const WordPieceSettings& settings,
                                                  const std::string& source);

struct BpeSettings {
  std::optional<std::string> unknown_token;  // none: unknown characters are left out
  std::string continuing_prefix;             // before each character of a word but the first
  std::string word_suffix;                   // after the last character of a word
  bool fuse_unknown = false;                 // one unknown token for a run of unknown characters
  bool byte_fallback = false;                // unknown characters become tokens <0x00> ... <0xFF>
  bool ignore_merges = false;  // a word that is a token is that token, whatever merges
};

using BpeMerges = std::vector<std::pair<std::string, std::string>>;

// Byte-pair encoding: a word begins as its characters (or bytes); again and again the pair of
// neighbours whose merge comes first in the list of merges is joined, the leftmost of equals first.
//
// Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL
// 2016. Details (unknown characters, byte fallback) are those of the `tokenizers` library. A word
// of n characters takes O(n log n) time.
//
// Errors (kInput, naming `source`): a merge of tokens, or to a token, that the vocabulary lacks;
// when it cuts words, an unknown character when the unknown token is not in the vocabulary.
std::unique_ptr<const TokenModel> make_bpe(Vocabulary vocabulary, const BpeMerges& merges,
                                           const BpeSettings& settings, const std::string& source);

constexpr double kUnknownPenalty = 10.0;  // of an unknown character, below the lowest score

struct UnigramSettings {
  int32_t unknown_id = -1;  // -1: none, then a text with an unknown character is an error (kInput)
  bool byte_fallback = false;
};

// Unigram language model: each word is cut into the tokens whose scores add up to the most.
//
//   best(0) = 0,  best(j) = max over tokens t = text[i, j) of best(i) + score(t)
//
// for the positions i, j between characters (Kudo, "Subword Regularization", ACL 2018, sect. 3.2;
// Viterbi's algorithm). A character that is not a token itself counts as unknown, with the lowest
// score of all tokens minus 10. Neighbouring unknown characters become one unknown token, or, with
// byte fallback, the tokens "<0xE2>" of their bytes, each with the span of all, if there are all.
// Among equal sums the one found first, which is the longer last token, wins. The result equals
// that of Hugging Face's Unigram, which sums doubles in the same order.
//
// Time: a word's length times the longest token's; memory: 16 bytes a byte of the longest word.
//
// scores[id] belongs to the token `id`. If a token occurs twice, its last id is used. Errors
// (kInput, naming `source`): an unknown id that is not in the vocabulary; more than 8 million
// tokens.
std::unique_ptr<const TokenModel> make_unigram(Vocabulary vocabulary, std::vector<double> scores,
                                               const UnigramSettings& settings,
                                               const std::string& source);

}  // namespace simile
