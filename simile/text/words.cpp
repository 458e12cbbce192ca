// SPDX-License-Identifier: Apache-2.0
#include "simile/text/words.h"

#include <unicode/bytestream.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "simile/core/check.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

bool is_kept(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0;
}

std::string fold_case(std::string_view text) {
  std::string folded;
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFKCCasefoldInstance(status);
  if (U_SUCCESS(status)) {
    icu::StringByteSink<std::string> sink(&folded);
    normalizer->normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                              sink, nullptr, status);
  }
  SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kFailed, "ICU cannot fold the case of a text: {}",
               u_errorName(status));
  return folded;
}

constexpr size_t kMostBytes = 100000;
constexpr size_t kShortestForm = 4;  // characters
constexpr size_t kLongestEnding = 3;

const std::set<std::string>& common_words() {
  static const std::set<std::string> words = {
      "a",     "about", "am",    "an",   "and",   "are",  "as",   "at",   "be",    "been",  "but",
      "by",    "can",   "could", "did",  "do",    "does", "for",  "from", "get",   "had",   "has",
      "have",  "how",   "i",     "if",   "in",    "into", "is",   "it",   "its",   "me",    "my",
      "of",    "on",    "or",    "our",  "so",    "than", "that", "the",  "their", "them",  "then",
      "there", "they",  "this",  "to",   "us",    "was",  "we",   "what", "when",  "where", "which",
      "who",   "why",   "will",  "with", "would", "you",  "your"};
  return words;
}

struct FoundWord {
  std::string folded;
  WordMark place;
};

void append_lower(char32_t c, std::string& folded) {
  if (is_combining_mark(c)) return;
  const std::u32string_view lower = lower_case(c);
  if (lower.empty()) return append_utf8(c, folded);
  for (const char32_t each : lower) {
    if (!is_combining_mark(each)) append_utf8(each, folded);
  }
}

std::vector<FoundWord> find_words(std::string_view text) {
  std::vector<FoundWord> words;
  FoundWord word;
  const auto finish = [&](size_t end) {
    word.place.end = end;
    if (!word.folded.empty()) words.push_back(word);
    word.folded.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_character(text, at);
    const uint8_t properties = character_properties(c.code_point);
    const bool is_part =
        c.valid && ((properties & (kLetter | kNumber)) != 0 || is_combining_mark(c.code_point));
    const bool is_alone = (properties & kCjkIdeograph) != 0;
    if (!is_part || is_alone) finish(at);
    if (is_part) {
      if (word.folded.empty()) word.place.begin = at;
      std::u32string parts = compatibility_decomposition(c.code_point);
      if (parts.empty()) parts = c.code_point;
      for (const char32_t part : parts) append_lower(part, word.folded);
    }
    at += c.size;
    if (is_alone) finish(at);
  }
  finish(text.size());
  return words;
}

bool is_form(const std::string& word, const std::string& asked) {
  const std::string& shorter = word.size() < asked.size() ? word : asked;
  const std::string& longer = word.size() < asked.size() ? asked : word;
  if (longer.compare(0, shorter.size(), shorter) != 0) return false;
  if (longer.size() == shorter.size()) return true;
  return count_characters(shorter) >= kShortestForm &&
         count_characters(std::string_view(longer).substr(shorter.size())) <= kLongestEnding;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_character(text, i);
    const auto c = static_cast<UChar32>(character.code_point);
    i += character.size;
    if (!u_isalnum(c) && (U_GET_GC_MASK(c) & U_GC_M_MASK) == 0) {
      finish_word();
      continue;
    }
    const bool ideograph = c >= 0x2E80 && u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC);
    if (ideograph) finish_word();
    append_utf8(static_cast<char32_t>(u_tolower(c)), word);
    if (ideograph) finish_word();
  }
  finish_word();
  return words;
}

std::string lower_text(const std::string& text) {
  std::string lower;
  icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(lower);
  return lower;
}

std::string comparison_form(std::string_view text) {
  std::string folded;
  const bool is_ascii = ascii_prefix(text) == text.size();
  if (!is_ascii) {
    folded = fold_case(text);
    text = folded;
  }
  std::string form;
  form.reserve(text.size());
  bool pending_space = false;
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter c = decode_character(text, i);
    if (!is_kept(c.code_point)) {
      pending_space = !form.empty();
    } else {
      if (pending_space) form.push_back(' ');
      pending_space = false;
      const bool is_upper = c.code_point >= 'A' && c.code_point <= 'Z';
      append_utf8(is_upper ? c.code_point + ('a' - 'A') : c.code_point, form);
    }
    i += c.size;
  }
  return form;
}

std::string comparison_key(std::string_view text) {
  std::string form = comparison_form(text);
  return form.empty() ? std::string(text) : form;
}

int64_t form_words(std::string_view form) {
  const bool is_form = !form.empty() && is_kept(decode_character(form, 0).code_point);
  return !is_form ? 0 : std::count(form.begin(), form.end(), ' ') + 1;
}

WordMarker::WordMarker(std::string_view query) {
  std::set<std::string> all;
  for (FoundWord& word : find_words(query)) all.insert(std::move(word.folded));
  std::set_difference(all.begin(), all.end(), common_words().begin(), common_words().end(),
                      std::back_inserter(words_));
  if (words_.empty()) words_.assign(all.begin(), all.end());
}

std::vector<WordMark> WordMarker::find(std::string_view text) const {
  std::vector<WordMark> marks;
  for (const FoundWord& word : find_words(text.substr(0, kMostBytes))) {
    const bool is_asked = std::any_of(words_.begin(), words_.end(), [&](const std::string& asked) {
      return is_form(word.folded, asked);
    });
    if (is_asked) marks.push_back(word.place);
  }
  return marks;
}

std::vector<WordMark> WordMarker::find_characters(std::string_view text) const {
  std::vector<WordMark> marks = find(text);
  size_t byte = 0, character = 0;
  const auto count_to = [&](size_t end) {
    character += count_characters(text.substr(byte, end - byte));
    byte = end;
    return character;
  };
  for (WordMark& mark : marks) {
    mark.begin = count_to(mark.begin);
    mark.end = count_to(mark.end);
  }
  return marks;
}

}  // namespace simile
