// SPDX-License-Identifier: Apache-2.0
// What a tokenizer.json may be made of: the names in "type" that are known, for reference pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simile {

// The member of tokenizer.json ("normalizer", "pre_tokenizer", "model", "post_processor",
// "decoder") and the names it may have.
std::vector<std::pair<std::string, std::vector<std::string>>> tokenizer_component_names();

}  // namespace simile
