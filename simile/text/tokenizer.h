// SPDX-License-Identifier: Apache-2.0
// Text in, token ids out: all of a tokenizer.json (or vocab.txt, or vocab.json and merges.txt).
//
//   Tokenizer tokenizer = Tokenizer::load("models/all-MiniLM-L6-v2");
//   tokenizer.set_max_length(256);
//   Encoding encoding = tokenizer.encode("Hello, World!");
//   // ids {101, 7592, 1010, 2088, 999, 102}, tokens "[CLS]" "hello" "," "world" "!" "[SEP]"
//
// Steps: added tokens are found; the text between them is normalised (normalizer.h), cut into words
// (pre_tokenizer.h) and looked up (token_model.h); special tokens are added (post_processor.h).
// Ids, token types and offsets are those of the `tokenizers` library. Lengths and padding that a
// tokenizer.json asks for are ignored: set_truncation() and set_max_length() decide. Texts are cut
// at their end, or where the folder says so at their beginning.
//
// A Tokenizer is a cheap copy of a shared, immutable core; const methods may run in any number of
// threads at once. Bytes that are not UTF-8 are read as U+FFFD and counted, never refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/text/post_processor.h"

namespace simile {

struct TextTokens;
struct TokenizerCore;

// One text or pair as tokens; all vectors have the same length.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // token types: 0, or 1 for the second text of a pair
  // Bytes [begin, end) of the token's own original text; (0, 0) for special tokens put around.
  std::vector<std::pair<uint32_t, uint32_t>> offsets;
  std::vector<uint8_t> special;      // 1 for special tokens put around
  std::vector<uint8_t> from_second;  // 1 for tokens of the second text of a pair, else 0
  int64_t replaced = 0;              // broken UTF-8 sequences that were read as U+FFFD
  int64_t dropped = 0;               // tokens that truncation left out
};

// The offsets of an encoding in characters (code points) instead of bytes, given the texts that it
// was made from. A broken UTF-8 sequence counts as one character.
std::vector<std::pair<uint32_t, uint32_t>> character_offsets(const Encoding& encoding,
                                                             std::string_view first,
                                                             std::string_view second = {});

// Ids of the special tokens; -1 where the tokenizer has none.
struct SpecialTokens {
  int32_t pad = -1;
  int32_t unk = -1;
  int32_t cls = -1;
  int32_t sep = -1;
  int32_t mask = -1;
};

// The settings of a BERT tokenizer besides its vocabulary.
struct BertTokenizerSettings {
  bool lowercase = true;
  bool handle_chinese_chars = true;
  int strip_accents = -1;  // 0 no, 1 yes, -1 as lowercase
  std::string pad_token = "[PAD]";
  std::string unk_token = "[UNK]";
  std::string cls_token = "[CLS]";
  std::string sep_token = "[SEP]";
  std::string mask_token = "[MASK]";
  std::vector<std::string> more_special_tokens = {};
  bool double_separator = false;  // MPNet: pairs are cls a sep sep b sep, all of type 0
};

class Tokenizer {
 public:
  // `path`: a model folder (tokenizer.json, else vocab.txt, else vocab.json and merges.txt of
  // GPT-2's or RoBERTa's kind, else sentencepiece.bpe.model or spiece.model as sentencepiece.h
  // tells) or one of these files; a tokenizer.json of another name is read alone. The files beside
  // it that transformers reads (detail/tokenizer_folder.h) add tokens and settings. Warnings:
  // where they contradict tokenizer.json. Errors (kInput, naming file and key): a file that is
  // missing, not JSON or not as expected; a component of unknown type or a class that splits texts
  // in another way; an id that two tokens have; a special token that does not exist.
  static Tokenizer load(const std::string& path, EventSink& events = silent_events());
  // The content of a tokenizer.json; `source` is the name used in messages.
  static Tokenizer parse(std::string_view json, const std::string& source);
  // A BERT tokenizer whose token i is tokens[i]. The unk, cls and sep tokens must be among them.
  static Tokenizer from_vocabulary(const std::vector<std::string>& tokens,
                                   const BertTokenizerSettings& settings,
                                   const std::string& source);

  // With special_tokens false, no special tokens are added; "[MASK]" inside it is still a token.
  // Errors (kInput): a text of 500 MB or more, or of more than 1 GiB on its way through the steps;
  // an unknown character where the model has no unknown token; a regular expression that takes too
  // long; (kRecipe) a max_length that the special tokens fill.
  Encoding encode(std::string_view text, bool special_tokens = true) const;
  Encoding encode_pair(std::string_view first, std::string_view second,
                       bool special_tokens = true) const;

  // Appends the ids of encode(text), faster because offsets are not kept and because it stops at
  // the maximum length. Returns `replaced` as far as the text was read.
  int64_t encode_ids(std::string_view text, std::vector<int32_t>& ids) const;

  // The same for many texts in parallel; results do not depend on the number of threads.
  // encode_ids_batch adds up `replaced` when given.
  std::vector<Encoding> encode_batch(const std::vector<std::string>& texts) const;
  std::vector<Encoding> encode_pair_batch(const std::vector<std::string>& first,
                                          const std::vector<std::string>& second) const;
  std::vector<std::vector<int32_t>> encode_ids_batch(const std::vector<std::string>& texts,
                                                     int64_t* replaced = nullptr) const;

  // The text of tokens, as the "decoder" of the tokenizer.json says. It may differ from the encoded
  // text, because normalising loses case and spaces. Errors (kInput): an id that is not of this
  // tokenizer; a decoder of unknown type.
  std::string decode(const std::vector<int32_t>& ids, bool skip_special_tokens = true) const;

  // Sets how encodings that are too long are cut (post_processor.h). Errors (kRecipe): no room for
  // a token of text. With a strategy other than kLongestFirst, encoding fails (kInput) where that
  // text alone cannot be cut enough.
  void set_truncation(const TruncationSettings& settings);
  const TruncationSettings& truncation() const { return truncation_; }
  // Most tokens of an encoding, special ones included; 0 for no limit. Unless set_truncation() said
  // otherwise, texts are cut on the side that the folder names, the longer text of a pair first.
  void set_max_length(int64_t tokens);
  int64_t max_length() const { return truncation_.max_length; }

  // Whether special tokens are added to texts, as the tokenizer.json says; true at first.
  void set_special_tokens(bool put) { puts_special_ = put; }

  // For an encoder with `embeddings` of them: added tokens with ids beyond, which some published
  // folders have (CamemBERT's "<unk>NOTUSED"), become the unknown token. Errors (kInput): a token
  // of the vocabulary itself is beyond, so that tokenizer and encoder belong to different models.
  void fit(int64_t embeddings);

  int64_t vocabulary_size() const;             // largest id + 1, added tokens included
  std::string_view token(int32_t id) const;    // Errors (kInput): not an id of this tokenizer
  int32_t find(std::string_view token) const;  // its id; -1 when there is none
  SpecialTokens special_tokens() const;
  bool is_special(int32_t id) const;  // one of the special added tokens

  // A tokenizer.json that load() and Hugging Face read: the loaded one, with padding null and, for
  // texts cut at their end, truncation null; or one that is equivalent to the vocabulary files.
  // Tokens and settings of the files beside it are in it.
  std::string to_json() const;
  // Whether those differ from the file's own.
  bool differs_from_file() const;
  // Whether its own parts lower-case texts; "do_lower_case" of other files does not count.
  bool lower_cases() const;
  // All tokens, one a line, in the order of their ids: vocab.txt.
  std::string vocabulary_text() const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenizerCore> core);

  void tokenize(std::string_view text, bool tracked, size_t limit, TextTokens& tokens) const;

  std::shared_ptr<const TokenizerCore> core_;
  const std::vector<TemplatePiece>& pieces(bool of_pair, bool special_tokens) const;

  TruncationSettings truncation_;
  bool puts_special_ = true;
  int64_t embeddings_ = 0;  // as fit() was told, where it matters
};

// The supported components of a tokenizer.json, for reference pages: its members ("normalizer",
// "pre_tokenizer", "model", "post_processor", "decoder") with the names that "type" may have.
std::vector<std::pair<std::string, std::vector<std::string>>> tokenizer_component_names();

}  // namespace simile
