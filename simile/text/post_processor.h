// SPDX-License-Identifier: Apache-2.0
// The last step of tokenising: putting special tokens around one text or a pair of texts.
#pragma once

#include <cstdint>
#include <vector>

namespace simile {

struct TemplatePiece {
  enum class Kind { kSpecial, kFirst, kSecond };
  Kind kind = Kind::kFirst;
  int32_t id = 0;       // kSpecial: the token; kFirst, kSecond: not used
  int32_t type_id = 0;  // token type of all tokens that the piece stands for
};

// All post-processors ("TemplateProcessing", "BertProcessing", "RobertaProcessing") come down to
// two templates, which detail/components.h reads from the "post_processor" of a tokenizer.json.
struct PostProcessor {
  // Without a post-processor: the texts alone, with token types 0 and 1.
  std::vector<TemplatePiece> single = {{TemplatePiece::Kind::kFirst, 0, 0}};
  std::vector<TemplatePiece> pair = {{TemplatePiece::Kind::kFirst, 0, 0},
                                     {TemplatePiece::Kind::kSecond, 0, 1}};
};

// Number of special tokens in a template.
int64_t count_special_tokens(const std::vector<TemplatePiece>& pieces);

// How many tokens of two texts with `first` and `second` tokens are kept when both together may
// have `limit`: the longer text loses tokens first ("longest_first" as in Hugging Face's
// tokenizers).
struct PairLengths {
  int64_t first = 0;
  int64_t second = 0;
};
PairLengths truncate_longest_first(int64_t first, int64_t second, int64_t limit);

}  // namespace simile
