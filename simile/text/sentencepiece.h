// SPDX-License-Identifier: Apache-2.0
// The file of a sentencepiece model (sentencepiece.bpe.model, spiece.model), read, and written out
// as a tokenizer.json as the converters of Hugging Face's transformers do it.
//
// It is a protocol-buffer message (sentencepiece_model.proto of the sentencepiece project); only
// the fields that tokenising needs are read.
//
// The model families give the file's pieces different ids and put different tokens around a text:
//
//   plain        the file's ids; nothing around the text
//   XLM-RoBERTa  <s> <pad> </s> <unk>, the file from its 4th piece on, <mask>;  <s> A </s>
//   CamemBERT    <s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED, the file from its 2nd piece on,
//                <mask>;  <s> A </s>
//   XLNet        the file's ids; A <sep> <cls>, of token types 0, 0 and 2
//   ALBERT       the file's ids; [CLS] A [SEP], in lower case
//   T5           the file's ids, <extra_id_99> to <extra_id_0>; A </s>
//
// XLNet and ALBERT read `` and '' as ", lose accents, and avoid pieces like "9,". The file's own
// settings decide the rest: its character table, whether spaces are trimmed and runs of them count
// as one, whether a text starts with a space. Control pieces are special tokens; user-defined ones
// stay pieces of the model, as in the tokenizer.json files that are published.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simile {

struct SentencePiece {
  enum class Kind { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  std::string text;  // valid UTF-8
  float score = 0;   // finite
  Kind kind = Kind::kNormal;
};

struct SentencePieceModel {
  enum class Type { kUnigram = 1, kBpe = 2 };

  std::vector<SentencePiece> pieces;  // the id is the place; at least one
  // The trainer's settings.
  Type type = Type::kUnigram;
  int64_t unknown_id = 0;  // a place in `pieces`; -1 for none
  bool byte_fallback = false;
  // Settings of the normaliser.
  std::string character_table;  // precompiled_charsmap (normalizer.h); empty: none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// Errors (kInput, naming `source` and the part): bytes that are not such a message or cut short; no
// pieces; a piece that is not UTF-8, beyond 1,024 bytes or whose score is not finite; models of
// words or characters, or with white space at the end of words, which are not supported.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& source);

// The merges of a BPE model, which its file does not store. Every way to cut a piece into two
// pieces of the model, in the order in which a BPE tokenizer should join them: by falling score of
// the whole, then falling length, in characters, of the left and right part, then in the order of
// the file, the left part with the smaller id first. Views into `model`.
std::vector<std::pair<std::string_view, std::string_view>> list_sentencepiece_merges(
    const SentencePieceModel& model);

enum class SentencePieceFamily { kPlain, kXlmRoberta, kCamembert, kXlnet, kAlbert, kT5 };

struct SentencePieceSettings {
  SentencePieceFamily family = SentencePieceFamily::kPlain;
  bool lowercase = false;     // ALBERT, XLNet
  bool keep_accents = false;  // ALBERT, XLNet
  bool legacy = true;         // false: a space is put only before the start of the text
  int64_t extra_ids = 100;    // T5
};

// Errors (kInput, naming `source`): a special token of the family is not among the pieces.
std::string sentencepiece_document(const SentencePieceModel& model,
                                   const SentencePieceSettings& settings,
                                   const std::string& source);

}  // namespace simile
