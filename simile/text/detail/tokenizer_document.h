// SPDX-License-Identifier: Apache-2.0
// Writing a tokenizer.json: parts that several writers share. The vocabularies are text, as they
// are too long to be built as one JSON value.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/core/detail/json.h"

namespace simile::detail {

// `text`, which is valid UTF-8, as a JSON string.
std::string quote_json(std::string_view text);

// The end of a BPE model, from its member "vocab" on: tokens[i] has the id i.
std::string tokens_and_merges_text(
    const std::vector<std::string_view>& tokens,
    const std::vector<std::pair<std::string_view, std::string_view>>& merges);

// An entry of "added_tokens": a special token, looked for in the text as it is. A mask ("<mask>",
// "[MASK]") takes the white space before it.
Json special_token_entry(std::string_view content, int64_t id);

// {"type":"Sequence", NAME: steps}; the step alone if there is one, null if there is none.
Json sequence_of(const char* name, std::vector<Json> steps);

// The normaliser that a trained tokeniser starts with: compatibility forms are replaced
// (`compatibility`: NFKC and sentencepiece's treatment of control characters), and with `lowercase`
// accents are stripped and letters made small. Null when nothing is to be done.
Json trained_normalizer(bool compatibility, bool lowercase);

// `<s> A </s>` and `<s> A </s> </s> B </s>`, given the ids of <s> and </s>.
Json trained_post_processor(int64_t first, int64_t last);

// The whole tokenizer.json. `special_tokens[i]` has the id special_ids[i]; `model` is JSON text.
std::string trained_document(const std::vector<std::string>& special_tokens,
                             const std::vector<int64_t>& special_ids, const Json& normalizer,
                             const Json& pre_tokenizer, const Json& post_processor,
                             const Json& decoder, const std::string& model);

}  // namespace simile::detail
