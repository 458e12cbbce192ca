// SPDX-License-Identifier: Apache-2.0
// A sentencepiece model written out as a tokenizer.json, as the converters of Hugging Face's
// transformers do it.
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
#include <vector>

#include "simile/text/sentencepiece_model.h"

namespace simile {

enum class SentencePieceFamily { kPlain, kXlmRoberta, kCamembert, kXlnet, kAlbert, kT5 };

struct SentencePieceSettings {
  SentencePieceFamily family = SentencePieceFamily::kPlain;
  bool lowercase = false;     // ALBERT, XLNet
  bool keep_accents = false;  // ALBERT, XLNet
  bool legacy = true;         // false: a space is put only before the start of the text
  int64_t extra_ids = 100;    // T5
  std::vector<std::string> more_special_tokens;
};

// Errors (kInput, naming `source`): a special token of the family is not among the pieces.
std::string sentencepiece_document(const SentencePieceModel& model,
                                   const SentencePieceSettings& settings,
                                   const std::string& source);

}  // namespace simile
