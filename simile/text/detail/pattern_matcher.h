// SPDX-License-Identifier: Apache-2.0
// The ways in which a TextPattern finds its matches.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/normalized_text.h"

namespace simile::detail {

// How GPT-2 cuts text into words.
constexpr char kGpt2Pattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class PatternMatcher {
 public:
  virtual ~PatternMatcher() = default;
  virtual void find(std::string_view text, std::vector<Span>& matches) const = 0;
};

// Scanners written by hand for well-known word patterns; null for any other expression.
std::shared_ptr<const PatternMatcher> make_word_scanner(const std::string& pattern);
// Alternatives of one character or class each, repeated or not; null for any other expression.
std::shared_ptr<const PatternMatcher> make_run_matcher(const std::string& pattern);
// Any expression, by ICU. Errors (kInput, naming `where`): what ICU cannot read.
std::shared_ptr<const PatternMatcher> make_regex_matcher(const std::string& pattern,
                                                         const std::string& where);

}  // namespace simile::detail
