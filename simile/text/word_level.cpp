// SPDX-License-Identifier: Apache-2.0
#include "simile/text/word_level.h"

#include <fmt/format.h>

#include "simile/core/error.h"

namespace simile {

WordLevel::WordLevel(Vocabulary vocabulary, const std::string& unknown_token,
                     const std::string& source)
    : vocabulary_(std::move(vocabulary)) {
  unknown_id_ = vocabulary_.find(unknown_token);
  SIMILE_CHECK(
      unknown_id_ >= 0, ErrorKind::kInput,
      fmt::format("{}: the unknown token \"{}\" is not in the vocabulary", source, unknown_token));
}

void WordLevel::tokenize(std::string_view text, const std::vector<Span>& words, size_t limit,
                         std::vector<Token>& tokens) const {
  for (const Span word : words) {
    if (tokens.size() >= limit) return;
    const int32_t id = vocabulary_.find(text.substr(word.begin, word.end - word.begin));
    tokens.push_back({id >= 0 ? id : unknown_id_, word});
  }
}

}  // namespace simile
