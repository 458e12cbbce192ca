// SPDX-License-Identifier: Apache-2.0
// Unigram language model: each word is cut into the tokens whose scores add up to the most.
//
//   best(0) = 0,  best(j) = max over tokens t = text[i, j) of best(i) + score(t)
//
// for the positions i, j between characters (Kudo, "Subword Regularization", ACL 2018, sect. 3.2;
// Viterbi's algorithm). A character that is no token itself counts as unknown with the lowest
// score of all tokens minus 10. Neighbouring unknown characters become one unknown token, or, with
// byte fallback, the tokens "<0xE2>" of their bytes, each with the span of all, if there are all.
// Of equal sums the one found first, which is the longer last token, wins. As Hugging Face's
// Unigram, which sums doubles in the same order.
//
// Time is linear in the length of a word, times the length of the longest token; memory is 16 bytes
// for each byte of the longest word.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/token_model.h"

namespace simile {

namespace detail {
class PieceTrie;
}

constexpr double kUnknownPenalty = 10.0;  // of an unknown character, below the lowest score

struct UnigramSettings {
  int32_t unknown_id = -1;  // -1: none, then a text with an unknown character is an error (kInput)
  bool byte_fallback = false;
};

class Unigram : public TokenModel {
 public:
  // scores[id] belongs to the token `id`. Of a token that occurs twice the last id is used.
  // Errors (kInput, naming `source`): an unknown id that is not in the vocabulary; more than 8
  // million tokens.
  Unigram(Vocabulary vocabulary, std::vector<double> scores, const UnigramSettings& settings,
          const std::string& source);
  ~Unigram() override;

  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return settings_.unknown_id; }

 private:
  // The best way to a position of the word.
  struct Step {
    double score;
    uint32_t begin;  // of its last token; kUnreached
    int32_t id;
  };
  static constexpr uint32_t kUnreached = 0xFFFFFFFF;

  void find_best(std::string_view word, std::vector<Step>& steps) const;
  void append_tokens(std::string_view text, Span word, const std::vector<Step>& steps,
                     std::vector<Token>& tokens) const;
  // Appends, last one first, the tokens of a run of unknown characters.
  void append_unknown(std::string_view text, Span run, std::vector<Token>& tokens) const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  UnigramSettings settings_;
  std::string source_;
  std::unique_ptr<const detail::PieceTrie> trie_;
  double unknown_score_ = 0;
  std::array<int32_t, 256> byte_ids_{};  // -1 where the vocabulary has none
};

}  // namespace simile
