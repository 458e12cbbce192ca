// SPDX-License-Identifier: Apache-2.0
#include "simile/text/sentence_splitter.h"

#include <fmt/format.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <cstdint>

#include "simile/core/error.h"

namespace simile {
namespace {

void check_status(UErrorCode status, const char* what) {
  SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kFailed,
               fmt::format("ICU cannot {}: {}; is its data installed?", what, u_errorName(status)));
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

class SentenceSplitter::Implementation {
 public:
  explicit Implementation(const std::string& language) {
    UErrorCode status = U_ZERO_ERROR;
    const std::string locale = language + "@ss=standard";
    breaks_ = ubrk_open(UBRK_SENTENCE, locale.c_str(), nullptr, 0, &status);
    check_status(status, "find the ends of sentences");
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() {
    ubrk_close(breaks_);
    utext_close(text_);
  }

  std::vector<std::string_view> split(std::string_view text) {
    UErrorCode status = U_ZERO_ERROR;
    text_ = utext_openUTF8(text_, text.data(), static_cast<int64_t>(text.size()), &status);
    ubrk_setUText(breaks_, text_, &status);
    check_status(status, "read a text");
    std::vector<std::string_view> sentences;
    int32_t begin = ubrk_first(breaks_);
    for (int32_t end = ubrk_next(breaks_); end != UBRK_DONE; end = ubrk_next(breaks_)) {
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

 private:
  UBreakIterator* breaks_ = nullptr;
  UText* text_ = nullptr;
};

SentenceSplitter::SentenceSplitter(const std::string& language)
    : implementation_(std::make_unique<Implementation>(language)) {}
SentenceSplitter::SentenceSplitter(SentenceSplitter&&) noexcept = default;
SentenceSplitter::~SentenceSplitter() = default;

std::vector<std::string_view> SentenceSplitter::split(std::string_view text) {
  if (text.empty()) return {};
  return implementation_->split(text);
}

}  // namespace simile
