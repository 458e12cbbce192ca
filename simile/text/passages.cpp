// SPDX-License-Identifier: Apache-2.0
#include "simile/text/passages.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "simile/core/error.h"
#include "simile/text/unicode.h"
#include "simile/text/words.h"

namespace simile {
namespace {

constexpr double kMostTokens = 1 << 20;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class PassageCutter {
 public:
  PassageCutter(std::string_view text, const Tokenizer& tokenizer, const PassageOptions& options,
                bool lower_case)
      : text_(text), counter_(tokenizer), options_(options), lower_case_(lower_case) {
    counter_.set_special_tokens(false);
    counter_.set_max_length(options.passage_tokens + 1);
  }

  std::vector<Passage> cut() {
    std::vector<Passage> passages;
    if (fits(text_)) return passages;
    find_tokens();
    const size_t count = tokens_.size();
    for (size_t first = 0; first < count;) {
      const size_t end = end_of(first);
      const Passage next = passage(first, end);
      // One that was cut shorter may end where the one before does.
      if (passages.empty() || next.end > passages.back().end) passages.push_back(next);
      if (end == count) break;
      first = std::max(first + 1, start_before(end));
    }
    if (passages.size() < 2) passages.clear();
    return passages;
  }

 private:
  std::string read(std::string_view text) const {
    return lower_case_ ? lower_text(std::string(text)) : std::string(text);
  }

  bool fits(std::string_view text) {
    ids_.clear();
    counter_.encode_ids(read(text), ids_);
    return static_cast<int64_t>(ids_.size()) <= options_.passage_tokens;
  }

  void find_tokens() {
    Tokenizer tokenizer = counter_;
    tokenizer.set_max_length(0);
    // A few characters have another size in lower case: then the text's own tokens are about right.
    const std::string lowered = read(text_);
    const bool same_places = lowered.size() == text_.size();
    const Encoding encoding = tokenizer.encode(same_places ? std::string_view(lowered) : text_);
    for (auto [begin, end] : encoding.offsets) {
      while (begin < end && is_space(text_[begin])) ++begin;
      if (begin < end) tokens_.emplace_back(begin, end);
    }
  }

  bool begins_word(size_t token) const {
    const size_t begin = tokens_[token].first;
    return begin == 0 || is_space(text_[begin - 1]);
  }

  // The first token behind the passage that begins with token `first`.
  size_t end_of(size_t first) {
    const auto most = static_cast<size_t>(options_.passage_tokens);
    size_t end = std::min(first + most, tokens_.size());
    if (end < tokens_.size()) end = word_before(end, first + most / 2);
    // Read alone, its ends may be other tokens.
    while (end > first + 1 && !fits(piece(passage(first, end)))) --end;
    return end;
  }

  size_t word_before(size_t end, size_t lowest) const {
    for (size_t at = end; at > lowest; --at) {
      if (begins_word(at)) return at;
    }
    return end;
  }

  size_t start_before(size_t end) const {
    const auto overlap = static_cast<size_t>(options_.passage_overlap);
    const size_t start = end - std::min(end, overlap);
    for (size_t at = start; at < end; ++at) {
      if (begins_word(at)) return at;
    }
    return begins_word(end) ? end : start;
  }

  Passage passage(size_t first, size_t end) const {
    size_t from = tokens_[first].first, to = tokens_[end - 1].second;
    while (from > 0 && inside_character(text_, from)) --from;
    while (inside_character(text_, to)) ++to;
    while (to > from + 1 && is_space(text_[to - 1])) --to;
    return {static_cast<int64_t>(from), static_cast<int64_t>(to)};
  }

  std::string_view piece(const Passage& passage) const {
    return text_.substr(static_cast<size_t>(passage.begin),
                        static_cast<size_t>(passage.end - passage.begin));
  }

  std::string_view text_;
  Tokenizer counter_;
  PassageOptions options_;
  bool lower_case_;
  std::vector<int32_t> ids_;
  std::vector<std::pair<uint32_t, uint32_t>> tokens_;
};

}  // namespace

void PassageOptions::visit(OptionVisitor& v) {
  v.field("passage_tokens", passage_tokens,
          {"documents of more tokens are split into passages of at most so many, each with a "
           "vector of its own; 0: documents are not split",
           "tokens", 0, kMostTokens});
  v.field("passage_overlap", passage_overlap,
          {"at most so many tokens of a passage stand in the one before too", "tokens", 0,
           kMostTokens});
}

void check_passages(const PassageOptions& options) {
  SIMILE_CHECK(
      !options.splits() || 2 * options.passage_overlap <= options.passage_tokens, ErrorKind::kUsage,
      fmt::format("passage_overlap: {} of passages of {} tokens; expected at most half of them",
                  options.passage_overlap, options.passage_tokens));
}

std::vector<Passage> split_passages(std::string_view text, const Tokenizer& tokenizer,
                                    const PassageOptions& options, bool lower_case) {
  check_passages(options);
  if (!options.splits()) return {};
  return PassageCutter(text, tokenizer, options, lower_case).cut();
}

}  // namespace simile
