// SPDX-License-Identifier: Apache-2.0
// Parts of a tokenizer.json as text, for documents too long to be built as one JSON value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simile/core/detail/json.h"

namespace simile::detail {

// `text`, which is valid UTF-8, as a JSON string.
std::string quote_json(std::string_view text);

// An entry of "added_tokens": a special token, looked for in the text as it is. A mask ("<mask>",
// "[MASK]") takes the white space before it.
Json special_token_entry(std::string_view content, int64_t id);

// {"type":"Sequence", NAME: steps}; the step alone if there is one, null if there is none.
Json sequence_of(const char* name, std::vector<Json> steps);

}  // namespace simile::detail
