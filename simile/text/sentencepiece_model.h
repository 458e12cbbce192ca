// SPDX-License-Identifier: Apache-2.0
// The file of a sentencepiece model: sentencepiece.bpe.model, spiece.model.
//
// A protocol-buffer message (sentencepiece_model.proto of the sentencepiece project), of which what
// tokenising needs is read and the rest passed over.
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
  // Of the trainer's settings.
  Type type = Type::kUnigram;
  int64_t unknown_id = 0;  // a place in `pieces`; -1 for none
  bool byte_fallback = false;
  // Of the normaliser's settings.
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
// pieces of the model, in the order in which a BPE tokeniser is to join them: by falling score of
// the whole, then falling length, in characters, of the left and right part, then as the pieces
// stand in the file, the left part of smaller id first. Views into `model`.
std::vector<std::pair<std::string_view, std::string_view>> list_sentencepiece_merges(
    const SentencePieceModel& model);

}  // namespace simile
