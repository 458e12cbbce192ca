// SPDX-License-Identifier: Apache-2.0
#include "simile/text/text_pattern.h"

#include <unicode/uregex.h>
#include <unicode/ustring.h>

#include <cctype>
#include <chrono>
#include <mutex>

#include "simile/core/check.h"
#include "simile/core/file.h"
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

// The ICU sets for classes of Ruby's syntax, where the two differ.
struct RubySets {
  std::string word;        // \w, also for \b
  std::string class_word;  // \w between brackets
  std::string letter, number, mark;
};

const RubySets& ruby_sets() {
  static const RubySets sets = [] {
    const auto has = [](uint8_t property) {
      return [property](uint8_t properties) { return (properties & property) != 0; };
    };
    const auto is_mark = [](uint8_t properties) { return properties == kWordCharacter; };
    const std::string word =
        character_set(R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})", has(kWordCharacter));
    return RubySets{word + R"(\u00B2\u00B3\u00B9\u00BC-\u00BE)", word,
                    character_set(R"(\p{L})", has(kLetter)),
                    character_set(R"(\p{N})", has(kNumber)), character_set(R"(\p{M})", is_mark)};
  }();
  return sets;
}

// Writes an expression of Ruby's syntax as ICU must have it. Errors (kInput): what ICU would read
// otherwise and cannot be written for it.
class Translator {
 public:
  Translator(const std::string& pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (depth_ > 0) {
        bracket();
      } else if (c == '[') {
        open_bracket();
      } else if (c == '(') {
        group();
      } else if (c == '.' && dots_.back()) {
        put(R"([\s\S])", 1);
      } else {
        if (c == ')' && dots_.size() > 1) dots_.pop_back();
        if (pattern_.compare(at_, 2, "}+") == 0 && ends_interval()) {
          refuse("a + behind a number of repetitions");
        }
        copy(1);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw_error(ErrorKind::kInput,
                "{}: the regular expression \"{}\" has {}, which is not supported; write it with "
                "other means, or save the tokenizer without it",
                where_, pattern_, what);
  }

  bool ends_interval() const {
    const size_t begin = pattern_.rfind('{', at_);
    return begin != std::string::npos &&
           pattern_.find_first_not_of("0123456789,", begin + 1) == at_;
  }

  bool is_digit(size_t i) const { return i < pattern_.size() && std::isdigit(pattern_[i]) != 0; }

  void put(const std::string& text, size_t read) {
    result_ += text;
    at_ += read;
  }
  void copy(size_t size) { put(pattern_.substr(at_, size), size); }

  void open_bracket() {
    ++depth_;
    copy(pattern_.compare(at_, 2, "[^") == 0 ? 2 : 1);
    if (at_ < pattern_.size() && pattern_[at_] == ']') put("\\]", 1);  // first, it is itself
  }

  void bracket() {
    for (const char* name : {"[:punct:]", "[:^punct:]", "[:word:]", "[:^word:]"}) {
      const std::string text = name;
      if (pattern_.compare(at_, text.size(), text) != 0) continue;
      const std::string set = ends_with(text, "punct:]") ? R"(\p{P}\p{S})" : ruby_sets().class_word;
      return put((text[2] == '^' ? "[^" : "[") + set + "]", text.size());
    }
    if (pattern_.compare(at_, 2, "[:") == 0) {
      const size_t end = pattern_.find(":]", at_ + 2);
      if (end != std::string::npos) return copy(end + 2 - at_);
    }
    if (pattern_[at_] == '[') return open_bracket();
    if (pattern_[at_] == ']') --depth_;
    copy(1);
  }

  // (?m) lets . match line feeds: it is written out, as ICU's . takes "\r\n" for one character.
  void group() {
    bool dot = dots_.back();
    const size_t end = pattern_.find_first_not_of("imx-", at_ + 2);
    const bool has_flags = pattern_.compare(at_, 2, "(?") == 0 && end != std::string::npos &&
                           end > at_ + 2 && (pattern_[end] == ')' || pattern_[end] == ':');
    if (!has_flags) {
      const size_t next = at_ + 2;
      const bool is_other = pattern_.compare(at_, 2, "(?") == 0 && next < pattern_.size() &&
                            std::isalpha(pattern_[next]) != 0;
      if (is_other) refuse(fmt::format("the option \"(?{}\"", pattern_[next]));
      dots_.push_back(dot);
      return copy(1);
    }
    std::string flags;
    bool on = true;
    for (size_t i = at_ + 2; i < end; ++i) {
      if (pattern_[i] == '-') on = false;
      if (pattern_[i] == 'm') dot = on;
      if (pattern_[i] != 'm') flags += pattern_[i];
    }
    if (!flags.empty() && flags.back() == '-') flags.pop_back();
    if (pattern_[end] == ':') {
      dots_.push_back(dot);
      return put("(?" + flags + ":", end + 1 - at_);
    }
    dots_.back() = dot;
    put(flags.empty() ? "" : "(?" + flags + ")", end + 1 - at_);
  }

  void escape() {
    if (at_ + 1 >= pattern_.size()) return copy(1);
    const RubySets& sets = ruby_sets();
    const std::string& word = depth_ > 0 ? sets.class_word : sets.word;
    const std::pair<std::string, std::string> written[] = {{"\\w", "[" + word + "]"},
                                                           {"\\W", "[^" + word + "]"},
                                                           {"\\p{L}", "[" + sets.letter + "]"},
                                                           {"\\P{L}", "[^" + sets.letter + "]"},
                                                           {"\\p{N}", "[" + sets.number + "]"},
                                                           {"\\P{N}", "[^" + sets.number + "]"},
                                                           {"\\p{M}", "[" + sets.mark + "]"},
                                                           {"\\P{M}", "[^" + sets.mark + "]"},
                                                           {"\\h", "[0-9a-fA-F]"},
                                                           {"\\H", "[^0-9a-fA-F]"},
                                                           {"\\v", "\\x0B"}};
    for (const auto& [name, set] : written) {
      if (pattern_.compare(at_, name.size(), name) == 0) return put(set, name.size());
    }
    const char c = pattern_[at_ + 1];
    if (depth_ > 0 && c == 'b') return put("\\x08", 2);
    if (depth_ == 0 && (c == 'b' || c == 'B')) {
      const std::string in = "[" + sets.word + "]";
      const char* const form =
          c == 'b' ? "(?:(?<={0})(?!{0})|(?<!{0})(?={0}))" : "(?:(?<={0})(?={0})|(?<!{0})(?!{0}))";
      return put(fmt::format(fmt::runtime(form), in), 2);
    }
    const std::string same = depth_ > 0 ? "sSdDpPnrtfaexu" : "sSdDpPnrtfaexuAzZGRk";
    const bool is_reference = depth_ == 0 && c >= '1' && c <= '9' && !is_digit(at_ + 2);
    const bool is_letter = std::isalnum(static_cast<uint8_t>(c)) != 0;
    if (is_letter && !is_reference && same.find(c) == std::string::npos) {
      refuse(fmt::format("\"\\{}\"{}", c, depth_ > 0 ? " between brackets" : ""));
    }
    const bool is_long = std::string_view("xpP").find(c) != std::string_view::npos &&
                         pattern_.compare(at_ + 2, 1, "{") == 0;
    const size_t end = is_long ? pattern_.find('}', at_) : std::string::npos;
    copy(end == std::string::npos ? 2 : end + 1 - at_);
  }

  const std::string& pattern_;
  const std::string& where_;
  std::string result_;
  size_t at_ = 0;
  size_t depth_ = 0;                  // of brackets
  std::vector<bool> dots_ = {false};  // by group: whether . matches line feeds
};

class RegexMatcher : public PatternMatcher {
 public:
  RegexMatcher(const std::string& pattern, const std::string& where)
      : pattern_(pattern), where_(where) {
    Utf16Text text;
    text.assign(Translator(pattern, where).run());
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
