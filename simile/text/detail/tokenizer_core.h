// SPDX-License-Identifier: Apache-2.0
// The immutable parts of a Tokenizer, and how one text goes through them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/detail/components.h"
#include "simile/text/detail/tokenizer_folder.h"
#include "simile/text/tokenizer.h"

namespace simile {

// The tokens of one text, before special tokens are put around.
struct TextTokens {
  std::vector<int32_t> ids;
  std::vector<Span> offsets;    // only when tracked
  std::vector<uint32_t> added;  // only when tracked: which tokens are added ones found in the text
  int64_t replaced = 0;
};

struct TokenizerCore {
  std::string source;                                 // file name for messages
  std::string document;                               // the tokenizer.json
  std::unique_ptr<const Normalizer> normalizer;       // null: the text as it is
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // null: one word
  std::unique_ptr<const TokenModel> model;
  PostProcessor post_processor;
  std::unique_ptr<const Decoder> decoder;  // null: tokens with spaces between
  std::vector<AddedToken> added_tokens;
  AddedTokenFinder raw_finder;         // looks in the text
  AddedTokenFinder normalized_finder;  // looks in the normalised text
  Vocabulary vocabulary;               // the model's tokens and the added ones
  std::vector<uint8_t> is_special;     // by id
  SpecialTokens special;
  bool cuts_left = false;    // texts that are too long
  bool is_changed = false;   // by the files beside a tokenizer.json
  bool lower_cases = false;  // the tokenizer's own normaliser does

  // Replaces `tokens` by those of `text`; with a limit, tokens beyond it may be left out.
  void tokenize(std::string_view text, bool tracked, size_t limit, TextTokens& tokens) const;

 private:
  void trim_offsets(std::string_view text, TextTokens& tokens) const;
};

// Reads a tokenizer.json and the files beside it, if any.
std::shared_ptr<const TokenizerCore> read_tokenizer_core(
    std::string_view json, const std::string& source,
    const detail::TokenizerFolder* beside = nullptr, EventSink& events = silent_events());

}  // namespace simile
