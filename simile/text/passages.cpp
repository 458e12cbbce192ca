// SPDX-License-Identifier: Apache-2.0
#include "simile/text/passages.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <algorithm>

#include "simile/core/check.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr double kMostTokens = 1 << 20;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class PassageCutter {
 public:
  PassageCutter(std::string_view text, const Tokenizer& tokenizer, const PassageOptions& options)
      : text_(text), counter_(tokenizer), options_(options) {
    counter_.set_special_tokens(false);
  }

  std::vector<Passage> cut() {
    std::vector<Passage> passages;
    if (fits(text_, std::max(options_.passage_tokens, options_.passage_whole.value_or(0)))) {
      return passages;
    }
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
  bool fits(std::string_view text, int64_t tokens) {
    counter_.set_max_length(tokens + 1);
    ids_.clear();
    counter_.encode_ids(text, ids_);
    return static_cast<int64_t>(ids_.size()) <= tokens;
  }

  void find_tokens() {
    Tokenizer tokenizer = counter_;
    tokenizer.set_max_length(0);
    const Encoding encoding = tokenizer.encode(text_);
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
    for (size_t at = end; end < tokens_.size() && at > first + most / 2; --at) {
      if (!begins_word(at)) continue;
      end = at;
      break;
    }
    // Read alone, its ends may be other tokens.
    while (end > first + 1 && !fits(piece(passage(first, end)), options_.passage_tokens)) --end;
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
  std::vector<int32_t> ids_;
  std::vector<std::pair<uint32_t, uint32_t>> tokens_;
};

void check_status(UErrorCode status, const char* what) {
  SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kFailed, "ICU cannot {}: {}; is its data installed?",
               what, u_errorName(status));
}

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// "J." and "U.S." rarely end a sentence, and ICU knows few of them as abbreviations.
bool ends_with_initial(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || static_cast<uint8_t>(c) >= 0x80;
  };
  const size_t size = text.size();
  if (size < 2 || text[size - 1] != '.' || text[size - 2] < 'A' || text[size - 2] > 'Z')
    return false;
  return size == 2 || !is_letter(text[size - 3]);
}

}  // namespace

void PassageOptions::visit(OptionVisitor& v) {
  v.field("passage_tokens", passage_tokens,
          {"split long documents into passages of at most this number of tokens, each with its own "
           "vector; 0: do not split",
           "tokens", 0, kMostTokens});
  v.field("passage_overlap", passage_overlap,
          {"tokens that a passage shares with the one before, at most", "tokens", 0, kMostTokens});
  v.field("passage_whole", passage_whole,
          {"documents of at most this number of tokens are not split; default: what the model "
           "reads, 512 at most",
           "tokens", 0, kMostTokens});
}

void check_passages(const PassageOptions& options) {
  SIMILE_CHECK(!options.splits() || 2 * options.passage_overlap <= options.passage_tokens,
               ErrorKind::kUsage,
               "passage_overlap: {} of passages of {} tokens; expected at most half of them, {} "
               "here: give --passage-overlap",
               options.passage_overlap, options.passage_tokens, options.passage_tokens / 2);
}

std::vector<Passage> split_passages(std::string_view text, const Tokenizer& tokenizer,
                                    const PassageOptions& options) {
  check_passages(options);
  if (!options.splits()) return {};
  return PassageCutter(text, tokenizer, options).cut();
}

struct SentenceSplitter::Breaks {
  ~Breaks() {
    ubrk_close(iterator);
    utext_close(text);
  }
  UBreakIterator* iterator = nullptr;
  UText* text = nullptr;
};

SentenceSplitter::SentenceSplitter(const std::string& language)
    : breaks_(std::make_unique<Breaks>()) {
  UErrorCode status = U_ZERO_ERROR;
  const std::string locale = language + "@ss=standard";
  breaks_->iterator = ubrk_open(UBRK_SENTENCE, locale.c_str(), nullptr, 0, &status);
  check_status(status, "find the ends of sentences");
}
SentenceSplitter::SentenceSplitter(SentenceSplitter&&) noexcept = default;
SentenceSplitter::~SentenceSplitter() = default;

std::vector<std::string_view> SentenceSplitter::split(std::string_view text) {
  std::vector<std::string_view> sentences;
  if (text.empty()) return sentences;
  UBreakIterator* iterator = breaks_->iterator;
  UErrorCode status = U_ZERO_ERROR;
  breaks_->text =
      utext_openUTF8(breaks_->text, text.data(), static_cast<int64_t>(text.size()), &status);
  ubrk_setUText(iterator, breaks_->text, &status);
  check_status(status, "read a text");
  int32_t begin = ubrk_first(iterator);
  for (int32_t end = ubrk_next(iterator); end != UBRK_DONE; end = ubrk_next(iterator)) {
    const std::string_view sentence =
        without_space(text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    if (ends_with_initial(sentence)) continue;
    if (!sentence.empty()) sentences.push_back(sentence);
    begin = end;
  }
  const std::string_view rest = without_space(text.substr(static_cast<size_t>(begin)));
  if (!rest.empty()) sentences.push_back(rest);
  return sentences;
}

}  // namespace simile
