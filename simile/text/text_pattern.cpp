// SPDX-License-Identifier: Apache-2.0
#include "simile/text/text_pattern.h"

#include "simile/text/detail/pattern_matcher.h"

namespace simile {
namespace {

using detail::PatternMatcher;

class LiteralMatcher : public PatternMatcher {
 public:
  explicit LiteralMatcher(std::string literal) : literal_(std::move(literal)) {}

  void find(std::string_view text, std::vector<Span>& matches) const override {
    if (literal_.empty()) return;
    for (size_t i = text.find(literal_); i != std::string_view::npos;) {
      const size_t end = i + literal_.size();
      matches.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(end)});
      i = text.find(literal_, end);
    }
  }

 private:
  std::string literal_;
};

}  // namespace

TextPattern TextPattern::literal(std::string text) {
  return TextPattern(std::make_shared<LiteralMatcher>(std::move(text)));
}

TextPattern TextPattern::regex(const std::string& pattern, const std::string& where) {
  std::shared_ptr<const PatternMatcher> matcher = detail::make_word_scanner(pattern);
  if (!matcher) matcher = detail::make_run_matcher(pattern);
  if (!matcher) matcher = detail::make_regex_matcher(pattern, where);
  return TextPattern(std::move(matcher));
}

const TextPattern& TextPattern::gpt2() {
  static const TextPattern pattern = regex(detail::kGpt2Pattern, "GPT-2's pattern");
  return pattern;
}

void TextPattern::find(std::string_view text, std::vector<Span>& matches) const {
  matcher_->find(text, matches);
}

}  // namespace simile
