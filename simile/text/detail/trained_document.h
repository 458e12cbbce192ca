// SPDX-License-Identifier: Apache-2.0
// What the trainers of byte pairs and unigram models write around their vocabulary.
#pragma once

#include <string>
#include <vector>

#include "simile/core/detail/json.h"

namespace simile::detail {

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
