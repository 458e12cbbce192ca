// SPDX-License-Identifier: Apache-2.0
#include "simile/text/words.h"

#include <fmt/ranges.h>
#include <libstemmer.h>
#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utext.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>

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

// --- Words ---

struct FoundWord {
  std::string word;  // as split_words() has it
  WordMark place;
};

constexpr UChar32 kZeroWidthSpace = 0x200B;

bool is_hangul(UChar32 c) { return c >= 0xAC00 && c <= 0xD7A3; }

// Marks that spell vowels, and Arabic's stroke that lengthens a word: most texts leave them out.
// The dot is what folding leaves of a Turkish capital I with a dot.
bool is_left_out(UChar32 c) {
  return (c >= 0x0591 && c <= 0x05C7) || (c >= 0x064B && c <= 0x065F) || c == 0x0670 || c == 0x0640;
}

// Letters in squares, such as the sign of the kilogram, are of words too.
bool is_of_word(UChar32 c) {
  return is_kept(static_cast<char32_t>(c)) ||
         (u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) && c != kZeroWidthSpace) ||
         u_getIntPropertyValue(c, UCHAR_DECOMPOSITION_TYPE) == U_DT_SQUARE;
}

// Does its script write no spaces between words?
bool needs_dictionary(UChar32 c) {
  if (c < 0x0E00 || is_hangul(c)) return false;
  return u_getIntPropertyValue(c, UCHAR_LINE_BREAK) == U_LB_COMPLEX_CONTEXT ||
         u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC) || uscript_hasScript(c, USCRIPT_HIRAGANA) ||
         uscript_hasScript(c, USCRIPT_KATAKANA);
}

// The ends of a run's words by a dictionary, in bytes. It knows no word with characters not shown.
std::vector<size_t> cut_by_dictionary(std::string_view run) {
  std::string shown;
  std::vector<size_t> places = {0};  // in the run, of the end of each byte that is shown
  for (size_t i = 0; i < run.size();) {
    const DecodedCharacter c = decode_character(run, i);
    i += c.size;
    if (u_hasBinaryProperty(static_cast<UChar32>(c.code_point),
                            UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) {
      places.back() = i;
      continue;
    }
    append_utf8(c.code_point, shown);
    places.resize(shown.size() + 1, i);
  }
  UErrorCode status = U_ZERO_ERROR;
  static thread_local const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
  UText text = UTEXT_INITIALIZER;
  utext_openUTF8(&text, shown.data(), static_cast<int64_t>(shown.size()), &status);
  if (U_SUCCESS(status)) breaks->setText(&text, status);
  SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kFailed, "ICU cannot cut a text into words: {}",
               u_errorName(status));
  std::vector<size_t> ends;
  breaks->first();
  for (int32_t end; (end = breaks->next()) != icu::BreakIterator::DONE;) {
    ends.push_back(places[static_cast<size_t>(end)]);
  }
  utext_close(&text);
  return ends;
}

// The words of `run`, which begins at `place`.
template <typename Take>
void take_folded(std::string_view run, WordMark place, const Take& take) {
  const std::string folded = fold_case(run);
  FoundWord found{"", place};
  const auto finish = [&] {
    if (!found.word.empty()) take(found);
    found.word.clear();
  };
  bool was_hangul = false;
  size_t before = 0;  // where the last character of the word begins
  for (size_t i = 0; i < folded.size();) {
    const DecodedCharacter character = decode_character(folded, i);
    const auto c = static_cast<UChar32>(character.code_point);
    i += character.size;
    if (is_left_out(c) || (c == 0x0307 && !found.word.empty() && found.word.back() == 'i'))
      continue;
    const bool hangul = is_hangul(c);
    if (!is_of_word(c) || hangul != was_hangul) {
      finish();
    } else if (hangul &&
               found.word.size() > character.size) {  // the second of a pair begins the next
      const std::string last = found.word.substr(before);
      finish();
      found.word = last;
    }
    was_hangul = hangul;
    if (!is_of_word(c)) continue;
    before = found.word.size();
    append_utf8(character.code_point, found.word);
  }
  finish();
}

// Calls take(FoundWord&) for each word, whose text it may move away.
template <typename Take>
void for_each_word(std::string_view text, const Take& take) {
  FoundWord found;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    bool is_ascii = true, is_cut = false;
    size_t after = 0;  // bytes of the character behind the run
    found.word.clear();
    while (end < text.size()) {
      const char byte = text[end];
      const bool is_upper = byte >= 'A' && byte <= 'Z';
      if (is_upper || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9')) {
        found.word.push_back(is_upper ? static_cast<char>(byte + ('a' - 'A')) : byte);
        ++end;
        continue;
      }
      after = 1;
      if (static_cast<unsigned char>(byte) < 0x80) break;
      const DecodedCharacter c = decode_character(text, end);
      after = c.size;
      const auto code_point = static_cast<UChar32>(c.code_point);
      if (!c.valid || !is_of_word(code_point)) break;
      is_ascii = false;
      is_cut = is_cut || needs_dictionary(code_point);
      end += c.size;
      after = 0;
    }
    const std::string_view run = text.substr(begin, end - begin);
    found.place = {begin, end};
    if (is_ascii) {
      if (!run.empty()) take(found);
    } else if (!is_cut) {
      take_folded(run, found.place, take);
    } else {
      size_t from = 0;
      for (const size_t to : cut_by_dictionary(run)) {
        take_folded(run.substr(from, to - from), {begin + from, begin + to}, take);
        from = to;
      }
    }
    end += after;
  }
}

// --- Stems ---

// Cuts words of one language to their stems. For one thread.
class Stemmer {
 public:
  explicit Stemmer(const std::string& language)
      : language_(language), stemmer_(sb_stemmer_new(language.c_str(), "UTF_8")) {
    SIMILE_CHECK(stemmer_ != nullptr, ErrorKind::kUsage, "language: expected one of {}, found '{}'",
                 fmt::join(word_languages(), ", "), language);
  }

  void cut(std::string& word) const {
    const auto* bytes = reinterpret_cast<const sb_symbol*>(word.data());
    const sb_symbol* stem = sb_stemmer_stem(stemmer_.get(), bytes, static_cast<int>(word.size()));
    if (stem == nullptr) throw std::bad_alloc();
    const auto length = static_cast<size_t>(sb_stemmer_length(stemmer_.get()));
    if (length > 0) word.assign(reinterpret_cast<const char*>(stem), length);
  }

  const std::string& language() const { return language_; }

 private:
  struct Delete {
    void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
  };

  std::string language_;
  std::unique_ptr<sb_stemmer, Delete> stemmer_;
};

// This thread's stemmer of a language; nullptr for none.
const Stemmer* stemmer_of(const std::string& language) {
  if (language == "none") return nullptr;
  static thread_local std::unique_ptr<const Stemmer> last;
  if (last == nullptr || last->language() != language) {
    last = std::make_unique<const Stemmer>(language);
  }
  return last.get();
}

// --- Marks ---

// Without accents and other marks.
std::string without_marks(const std::string& word) {
  if (ascii_prefix(word) == word.size()) return word;
  std::string bare;
  const auto append = [&](char32_t c) {
    if (!is_combining_mark(c)) append_utf8(c, bare);
  };
  for (size_t i = 0; i < word.size();) {
    const DecodedCharacter c = decode_character(word, i);
    const std::u32string_view parts = canonical_decomposition(c.code_point);
    if (parts.empty() || is_hangul(static_cast<UChar32>(c.code_point)))
      append(c.code_point);
    else
      std::for_each(parts.begin(), parts.end(), append);
    i += c.size;
  }
  return bare.empty() ? word : bare;
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

std::vector<std::string> split_words(std::string_view text, const std::string& language) {
  const Stemmer* stemmer = stemmer_of(language);
  std::vector<std::string> words;
  for_each_word(text, [&](FoundWord& found) {
    if (stemmer != nullptr) stemmer->cut(found.word);
    words.push_back(std::move(found.word));
  });
  return words;
}

const std::vector<std::string>& word_languages() {
  static const std::vector<std::string> languages = [] {
    std::vector<std::string> all;
    for (const char** name = sb_stemmer_list(); *name != nullptr; ++name) all.emplace_back(*name);
    std::sort(all.begin(), all.end());
    all.insert(all.begin(), "none");
    return all;
  }();
  return languages;
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

WordMarker::WordMarker(std::string_view query, std::string language)
    : language_(std::move(language)) {
  std::set<std::string> all;
  for_each_word(query, [&](const FoundWord& found) { all.insert(without_marks(found.word)); });
  std::set_difference(all.begin(), all.end(), common_words().begin(), common_words().end(),
                      std::back_inserter(words_));
  if (words_.empty()) words_.assign(all.begin(), all.end());
  if (language_ == "none") return;
  for (std::string& stem : split_words(query, language_)) stems_.insert(std::move(stem));
}

std::vector<WordMark> WordMarker::find(std::string_view text) const {
  const Stemmer* stemmer = stemmer_of(language_);
  std::vector<WordMark> marks;
  for_each_word(text.substr(0, kMostBytes), [&](FoundWord& found) {
    const std::string bare = without_marks(found.word);
    bool is_asked = std::any_of(words_.begin(), words_.end(),
                                [&](const std::string& asked) { return is_form(bare, asked); });
    if (!is_asked && stemmer != nullptr) {
      stemmer->cut(found.word);
      is_asked = stems_.count(found.word) > 0;
    }
    if (!is_asked) return;
    const bool overlaps = !marks.empty() && marks.back().end > found.place.begin;
    if (!overlaps) marks.push_back(found.place);
  });
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
