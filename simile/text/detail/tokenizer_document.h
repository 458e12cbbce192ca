// SPDX-License-Identifier: Apache-2.0
// Writing a tokenizer.json: from the files of folders that have none, and the parts that all
// writers share. The vocabularies are text, as they are too long to be built as one JSON value.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/detail/json.h"
#include "simile/text/detail/tokenizer_folder.h"
#include "simile/text/tokenizer.h"

namespace simile::detail {

// A BERT tokenizer whose token i is tokens[i]; the last of equal tokens counts. `special`: those
// that it has are "added_tokens". Errors (kInput, naming `source`): unk, cls or sep is missing.
std::string bert_document(const std::vector<std::string>& tokens,
                          const BertTokenizerSettings& settings, const std::string& source,
                          bool special = true);

// The same from a vocab.txt (a token a line, without white space behind it), without added tokens.
std::string bert_document(const std::string& vocabulary, const TokenizerFolder& folder);

// The settings of a folder whose class is BERT's or MPNet's.
BertTokenizerSettings read_bert_settings(const TokenizerFolder& folder);

// A byte-level BPE tokenizer from vocab.json (token to id) and merges.txt ("left right" a line,
// after a "#version" line), with the tokenizer_class, add_prefix_space and special tokens of
// tokenizer_config.json. Known classes: RoBERTa's (also BART's and Longformer's), with <s> and </s>
// around, and GPT-2's, with nothing; without a class it is RoBERTa's if the vocabulary has both <s>
// and </s>. Errors (kInput, naming the file): one that is missing or malformed; another class; a
// special token that the vocabulary lacks.
std::string byte_pair_document(const std::string& folder, const TokenizerFolder& settings);

// A tokenizer from a sentencepiece model and the settings in `folder`, which name its family:
// "tokenizer_class" of tokenizer_config.json, else "model_type" of config.json, else plain. Errors
// (kInput, naming the file): another tokenizer_class; values of the wrong type; as
// parse_sentencepiece_model() and the other sentencepiece_document() (sentencepiece.h).
std::string sentencepiece_document(const std::string& model, const std::string& folder,
                                   const TokenizerFolder& settings);

// For the writers.

// The text of special token `key` in a tokenizer_config.json, which names it by its text or by an
// object that holds it under "content"; `fallback` when the file does not name it.
std::string read_token_name(const JsonObject& config, const char* key, const std::string& fallback);

// The "tokenizer_class" there, without a final "Fast"; empty if there is none.
std::string read_tokenizer_class(const JsonObject& config);

// `text`, which is valid UTF-8, as a JSON string.
std::string quote_json(std::string_view text);

// The end of a BPE model, from its member "vocab" on: tokens[i] has the id i.
std::string tokens_and_merges_text(
    const std::vector<std::string_view>& tokens,
    const std::vector<std::pair<std::string_view, std::string_view>>& merges);

// An entry of "added_tokens": a special token, looked for in the text as it is. A mask ("<mask>",
// "[MASK]") takes the white space before it. Tree: Json, or the type that keeps members in order.
template <typename Tree = Json>
Tree special_token_entry(std::string_view content, int64_t id) {
  return {{"id", id},
          {"content", content},
          {"single_word", false},
          {"lstrip", content == "<mask>" || content == "[MASK]"},
          {"rstrip", false},
          {"normalized", false},
          {"special", true}};
}

// The pieces of a template: "A", "B" or a special token, and its token type.
using TemplateParts = std::vector<std::pair<std::string, int>>;

// A "TemplateProcessing"; find_id(token) gives the id of a special token.
template <typename Tree = Json, typename FindId>
Tree template_processing(const TemplateParts& single, const TemplateParts& pair,
                         const FindId& find_id) {
  const auto is_text = [](const std::string& name) { return name == "A" || name == "B"; };
  const auto list = [&](const TemplateParts& parts) {
    Tree pieces = Tree::array();
    for (const auto& [name, type] : parts) {
      const char* kind = is_text(name) ? "Sequence" : "SpecialToken";
      pieces.push_back({{kind, {{"id", name}, {"type_id", type}}}});
    }
    return pieces;
  };
  Tree specials = Tree::object();
  for (const auto& part : pair) {
    const std::string& name = part.first;
    if (is_text(name)) continue;
    specials[name] = {{"id", name}, {"ids", {find_id(name)}}, {"tokens", {name}}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", list(single)},
          {"pair", list(pair)},
          {"special_tokens", specials}};
}

// The normaliser that a trained tokenizer starts with: compatibility forms are replaced
// (`compatibility`: NFKC and sentencepiece's treatment of control characters), and with `lowercase`
// accents are stripped and letters made small. Null if there is nothing to do.
Json trained_normalizer(bool compatibility, bool lowercase);

// The special tokens, special_tokens[i] with the id special_ids[i], as "added_tokens".
Json trained_tokens(const std::vector<std::string>& special_tokens,
                    const std::vector<int64_t>& special_ids);

// The whole tokenizer.json; `model` is JSON text.
std::string tokenizer_document(const Json& added_tokens, const Json& normalizer,
                               const Json& pre_tokenizer, const Json& post_processor,
                               const Json& decoder, const std::string& model);

}  // namespace simile::detail
