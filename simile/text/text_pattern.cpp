// SPDX-License-Identifier: Apache-2.0
#include "simile/text/text_pattern.h"

#include <unicode/uregex.h>
#include <unicode/ustring.h>

#include <chrono>
#include <mutex>

#include "simile/core/check.h"
#include "simile/text/detail/newer_characters.h"
#include "simile/text/unicode.h"

namespace simile {

namespace detail {
namespace {

class LiteralMatcher : public PatternMatcher {
 public:
  explicit LiteralMatcher(std::string literal) : literal_(std::move(literal)) {}

  void find(std::string_view text, std::vector<Span>& matches) const override {
    if (literal_.empty()) {  // as an empty expression: found before each character and at the end
      for (size_t i = 0; !text.empty() && i <= text.size(); ++i) {
        if (inside_character(text, i)) continue;
        matches.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(i)});
      }
      return;
    }
    for (size_t i = text.find(literal_); i != std::string_view::npos;) {
      const size_t end = i + literal_.size();
      matches.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(end)});
      i = text.find(literal_, end);
    }
  }

 private:
  std::string literal_;
};

constexpr int32_t kMatchLimit = 3000;  // of ICU's steps, about a millisecond each
constexpr auto kTextLimit = std::chrono::seconds(30);
constexpr size_t kMatchesPerCheck = 64;
constexpr size_t kKeptUnits = size_t{1} << 20;

struct RegexDeleter {
  void operator()(URegularExpression* regex) const { uregex_close(regex); }
};
using RegexHandle = std::unique_ptr<URegularExpression, RegexDeleter>;

// Text as UTF-16, and for each unit the byte where its character begins.
struct Utf16Text {
  std::u16string units;
  std::vector<uint32_t> begins;  // one more than units

  void assign(std::string_view text) {
    units.clear();
    begins.clear();
    for (size_t i = 0; i < text.size();) {
      const DecodedCharacter character = decode_valid_character(text, i);
      const char32_t c = character.code_point;
      if (c >= 0x10000) units.push_back(static_cast<char16_t>(U16_LEAD(c)));
      units.push_back(static_cast<char16_t>(c < 0x10000 ? c : U16_TRAIL(c)));
      begins.resize(units.size(), static_cast<uint32_t>(i));
      i += character.size;
    }
    begins.push_back(static_cast<uint32_t>(text.size()));
  }
};

// The characters of a category, those included that ICU does not know yet.
template <typename Belongs>
std::string character_set(const std::string& known, const Belongs& belongs) {
  std::string set = known;
  for (const NewerProperties& range : kNewerProperties) {
    if (!belongs(range.properties)) continue;
    set += fmt::format("\\U{:08X}-\\U{:08X}", static_cast<uint32_t>(range.first),
                       static_cast<uint32_t>(range.last));
  }
  return set;
}

// The ICU set for a class of Ruby's syntax, where the two differ.
struct ClassName {
  std::string name, set;
};

const std::vector<ClassName>& class_names() {
  static const std::vector<ClassName> names = [] {
    const auto has = [](uint8_t property) {
      return [property](uint8_t properties) { return (properties & property) != 0; };
    };
    const auto is_mark = [](uint8_t properties) { return properties == kWordCharacter; };
    const std::pair<std::string, std::string> sets[] = {
        {"\\w", character_set(R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u00B2\u00B3\u00B9\u00BC-\u00BE)",
                              has(kWordCharacter))},
        {"\\p{L}", character_set(R"(\p{L})", has(kLetter))},
        {"\\p{N}", character_set(R"(\p{N})", has(kNumber))},
        {"\\p{M}", character_set(R"(\p{M})", is_mark)},
        {"\\h", "0-9a-fA-F"}};
    std::vector<ClassName> all = {{"(?m:", "(?s:"}, {"(?m)", "(?s)"}};
    for (const auto& [name, set] : sets) {
      all.push_back({name, "[" + set + "]"});
      all.push_back({name, "[^" + set + "]"});
      all.back().name[1] -= 'a' - 'A';  // the others: \W, \P{L}
    }
    return all;
  }();
  return names;
}

// The expression as ICU must have it.
std::string translate(const std::string& pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size();) {
    const ClassName* found = nullptr;
    for (const ClassName& name : class_names()) {
      if (pattern.compare(i, name.name.size(), name.name) == 0) found = &name;
    }
    if (found != nullptr) {
      result += found->set;
      i += found->name.size();
    } else {
      const size_t size = pattern[i] == '\\' && i + 1 < pattern.size() ? 2 : 1;
      result += pattern.substr(i, size);
      i += size;
    }
  }
  return result;
}

class RegexMatcher : public PatternMatcher {
 public:
  RegexMatcher(const std::string& pattern, const std::string& where)
      : pattern_(pattern), where_(where) {
    Utf16Text text;
    text.assign(translate(pattern));
    UParseError place;
    UErrorCode status = U_ZERO_ERROR;
    regex_.reset(uregex_open(reinterpret_cast<const UChar*>(text.units.data()),
                             static_cast<int32_t>(text.units.size()),
                             UREGEX_MULTILINE | UREGEX_UNIX_LINES, &place, &status));
    SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kInput,
                 "{}: the regular expression \"{}\" cannot be used: {}", where, pattern,
                 u_errorName(status));
  }

  void find(std::string_view text, std::vector<Span>& matches) const override {
    thread_local Utf16Text utf16;
    utf16.assign(text);
    RegexHandle regex = take();
    UErrorCode status = U_ZERO_ERROR;
    uregex_setTimeLimit(regex.get(), kMatchLimit, &status);
    uregex_setText(regex.get(), reinterpret_cast<const UChar*>(utf16.units.data()),
                   static_cast<int32_t>(utf16.units.size()), &status);
    const auto start = std::chrono::steady_clock::now();
    size_t count = 0;
    int32_t last_end = -1;
    while (uregex_findNext(regex.get(), &status)) {
      const int32_t begin = uregex_start(regex.get(), 0, &status);
      const int32_t end = uregex_end(regex.get(), 0, &status);
      if (U_FAILURE(status)) break;
      // Right after a match, Ruby's and Rust's expressions find no empty one.
      const bool again = begin == end && end == last_end;
      last_end = end;
      if (!again) matches.push_back({utf16.begins[begin], utf16.begins[end]});
      if (++count % kMatchesPerCheck == 0 &&
          std::chrono::steady_clock::now() - start > kTextLimit) {
        status = U_REGEX_TIME_OUT;
        break;
      }
    }
    SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kInput,
                 "{}: the regular expression \"{}\" takes too long on a text of {} "
                 "bytes ({}); cut the text or simplify the expression",
                 where_, pattern_, text.size(), u_errorName(status));
    give_back(std::move(regex));
    if (utf16.units.size() > kKeptUnits) utf16 = Utf16Text();
  }

 private:
  // An ICU expression serves one thread at a time; those not in use wait here.
  RegexHandle take() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      RegexHandle regex = std::move(free_.back());
      free_.pop_back();
      return regex;
    }
    UErrorCode status = U_ZERO_ERROR;
    RegexHandle regex(uregex_clone(regex_.get(), &status));
    SIMILE_CHECK(U_SUCCESS(status), ErrorKind::kInput,
                 "{}: the regular expression \"{}\" cannot be copied: {}", where_, pattern_,
                 u_errorName(status));
    return regex;
  }

  void give_back(RegexHandle regex) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(regex));
  }

  std::string pattern_;
  std::string where_;
  RegexHandle regex_;
  mutable std::mutex mutex_;
  mutable std::vector<RegexHandle> free_;
};

}  // namespace

std::shared_ptr<const PatternMatcher> make_regex_matcher(const std::string& pattern,
                                                         const std::string& where) {
  return std::make_shared<RegexMatcher>(pattern, where);
}

}  // namespace detail

TextPattern TextPattern::literal(std::string text) {
  return TextPattern(std::make_shared<detail::LiteralMatcher>(std::move(text)));
}

TextPattern TextPattern::regex(const std::string& pattern, const std::string& where) {
  if (pattern.empty()) return literal(pattern);
  std::shared_ptr<const detail::PatternMatcher> matcher = detail::make_word_scanner(pattern);
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
