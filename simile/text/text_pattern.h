// SPDX-License-Identifier: Apache-2.0
// Patterns of normalisers and pre-tokenizers: a fixed text or a regular expression.
//
// The patterns of GPT-2, Llama 3 and Qwen 2 and alternatives of simple runs (`\s{2,}|[\n\r\t]`) are
// found by code of their own; all other expressions by ICU. These have Ruby's syntax, as in the
// `tokenizers` library: ^ and $ match at each line, (?m) lets . match line feeds. Syntax that ICU
// does not know is an error. \p{L}, \p{N}, \p{M} and \w have the characters of Unicode 16, other
// \p{...} those of ICU's version.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simile/text/normalizer.h"

namespace simile {

// The ways in which a TextPattern finds its matches.
namespace detail {

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
// Any expression, by ICU. Errors (kInput, naming `where`): an expression that ICU cannot read.
std::shared_ptr<const PatternMatcher> make_regex_matcher(const std::string& pattern,
                                                         const std::string& where);

}  // namespace detail

// Immutable, cheap to copy, safe to use from several threads.
class TextPattern {
 public:
  // Empty text is found before each character and at the end, as an empty expression is.
  static TextPattern literal(std::string text);
  // Errors (kInput, naming `where`): not a regular expression that ICU reads.
  static TextPattern regex(const std::string& pattern, const std::string& where);
  // GPT-2's pattern: 's 't 're 've 'm 'll 'd; letters, numbers, others after a space; white space.
  static const TextPattern& gpt2();

  // Appends the matches in valid UTF-8 `text`, in order, without overlap; a match may be empty.
  // Errors (kInput): a regular expression that takes too long (seconds for one match, half a minute
  // for all) or too much memory.
  void find(std::string_view text, std::vector<Span>& matches) const;

 private:
  explicit TextPattern(std::shared_ptr<const detail::PatternMatcher> matcher)
      : matcher_(std::move(matcher)) {}

  std::shared_ptr<const detail::PatternMatcher> matcher_;
};

}  // namespace simile
