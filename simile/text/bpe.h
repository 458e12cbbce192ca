// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding: a word begins as its characters (or bytes); again and again the pair of
// neighbours whose merge comes first in the list of merges is joined, the leftmost of equals first.
//
// Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL
// 2016. Details (unknown characters, byte fallback) are those of the `tokenizers` library. A word
// of n characters takes O(n log n) time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/text/token_model.h"

namespace simile {

namespace detail {
struct MergeSymbol;
class MergeTable;
}  // namespace detail

struct BpeSettings {
  std::optional<std::string> unknown_token;  // none: unknown characters are left out
  std::string continuing_prefix;             // before each character of a word but the first
  std::string word_suffix;                   // after the last character of a word
  bool fuse_unknown = false;                 // one unknown token for a run of unknown characters
  bool byte_fallback = false;                // unknown characters become tokens <0x00> ... <0xFF>
  bool ignore_merges = false;  // a word that is a token is that token, whatever merges
};

class Bpe : public TokenModel {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // Errors (kInput, naming `source`): a merge of tokens, or to a token, that the vocabulary lacks.
  Bpe(Vocabulary vocabulary, const Merges& merges, const BpeSettings& settings,
      const std::string& source);
  ~Bpe() override;

  // Errors (kInput): an unknown character when the unknown token is not in the vocabulary.
  void tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                std::vector<Token>& tokens) const override;
  bool tokenize_bytes(std::string_view text, const std::vector<Span>& words, size_t limit,
                      std::vector<Token>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t unknown_id() const override { return unknown_id_; }

 private:
  using Symbols = std::vector<detail::MergeSymbol>;

  void add_merges(const Merges& merges, const std::string& source);
  void add_byte_words(const std::string& source);
  // The token that a whole word is; -1: it is none, or its merges lead elsewhere.
  int32_t whole_word(std::string_view word, bool bytes) const;
  bool merges_to_itself(int32_t id, std::string_view word, bool bytes) const;
  void list_symbols(std::string_view word, bool bytes, Symbols& symbols) const;
  std::string name_of(std::string_view character, bool first, bool last) const;
  bool add_fallback_bytes(std::string_view name, Symbols& symbols) const;
  void tokenize_words(std::string_view text, const std::vector<Span>& words, bool bytes,
                      size_t limit, std::vector<Token>& tokens) const;

  Vocabulary vocabulary_;
  BpeSettings settings_;
  std::string source_;
  int32_t unknown_id_ = -1;
  std::unique_ptr<detail::MergeTable> merges_;
  bool plain_characters_ = true;        // neither prefix nor suffix
  bool reads_bytes_ = false;            // the vocabulary has all byte-level characters
  std::array<int32_t, 128> ascii_ids_;  // of plain characters
  std::array<int32_t, 256> byte_ids_;   // of byte-level characters
  std::array<int32_t, 256> fallback_ids_;
  Vocabulary byte_words_;  // the tokens as the bytes that they stand for
  // By token: 0 not yet known, 1 its own merges lead to it, 2 they do not.
  std::unique_ptr<std::atomic<uint8_t>[]> whole_;
};

}  // namespace simile
