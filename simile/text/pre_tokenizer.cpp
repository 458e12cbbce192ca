// SPDX-License-Identifier: Apache-2.0
#include "simile/text/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "simile/core/check.h"
#include "simile/text/detail/components.h"
#include "simile/text/unicode.h"
#include "simile/text/utf8.h"

namespace simile::detail {
namespace {

using PreTokenizerPointer = std::unique_ptr<const PreTokenizer>;

// A single huge text should not keep its memory for ever.
constexpr size_t kKeptBytes = size_t{4} << 20;

// The place of `mark` in text[begin, end), or end.
uint32_t find_mark(std::string_view text, std::string_view mark, uint32_t begin, uint32_t end) {
  const char first = mark[0];
  for (uint32_t i = begin; i + mark.size() <= end; ++i) {
    if (text[i] == first && std::memcmp(text.data() + i, mark.data(), mark.size()) == 0) return i;
  }
  return end;
}

std::string read_prepend_scheme(const JsonObject& json) {
  const std::string scheme = json.text_or("prepend_scheme", "");
  const bool add_space = json.flag_or("add_prefix_space", true);
  if (scheme.empty()) return add_space ? "always" : "never";
  SIMILE_CHECK(scheme == "always" || scheme == "never" || scheme == "first", ErrorKind::kInput,
               "{}: prepend_scheme must be \"always\", \"never\" or \"first\", not \"{}\"",
               json.source(), scheme);
  SIMILE_CHECK(add_space || scheme == "never", ErrorKind::kInput,
               "{}: add_prefix_space is false, but prepend_scheme is \"{}\"; expected \"never\"",
               json.source(), scheme);
  return scheme;
}

// In each part: every ' ' becomes the mark; the mark is put in front of a part that does not start
// with it, always, never, or only ("first") of the part whose first character is at byte 0 of the
// original text; then (with `split`) the part is cut before each mark. The mark put in front has
// the origin of the character after it. Hugging Face's Metaspace.
class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const JsonObject& json)
      : mark_(json.text_or("replacement", "\u2581")),
        prepend_(read_prepend_scheme(json)),
        split_(json.flag_or("split", true)) {
    SIMILE_CHECK(count_characters(mark_) == 1, ErrorKind::kInput,
                 "{}: replacement must be one character, not \"{}\"", json.source(), mark_);
  }
  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override {
    thread_local NormalizedText rewritten;
    thread_local std::vector<Span> parts;
    rewritten.clear(text.tracked);
    parts.swap(words);
    words.clear();
    for (const Span part : parts) {
      const auto begin = static_cast<uint32_t>(rewritten.text.size());
      rewrite(text, part, prepends(text, part, at_start), rewritten);
      const Span whole{begin, static_cast<uint32_t>(rewritten.text.size())};
      if (split_) {
        cut(rewritten.text, whole, words);
      } else if (whole.begin < whole.end) {
        words.push_back(whole);
      }
    }
    std::swap(text, rewritten);
    if (rewritten.text.capacity() > kKeptBytes) rewritten = {};
  }

  bool needs_start() const override { return prepend_ == "first"; }

 private:
  bool prepends(const NormalizedText& text, Span word, bool at_start) const {
    const std::string_view bytes =
        std::string_view(text.text).substr(word.begin, word.end - word.begin);
    if (bytes.empty() || bytes[0] == ' ' || bytes.substr(0, mark_.size()) == mark_) return false;
    if (prepend_ != "first") return prepend_ == "always";
    return text.tracked ? text.origins[word.begin].begin == 0 : at_start && word.begin == 0;
  }

  void rewrite(const NormalizedText& text, Span word, bool prepend, NormalizedText& out) const {
    const auto put_mark = [&](uint32_t place) {
      out.text += mark_;
      if (out.tracked) out.origins.resize(out.text.size(), text.origins[place]);
    };
    if (prepend) put_mark(word.begin);
    for (uint32_t i = word.begin; i < word.end;) {
      const void* found = std::memchr(text.text.data() + i, ' ', word.end - i);
      const auto next =
          found == nullptr
              ? word.end
              : static_cast<uint32_t>(static_cast<const char*>(found) - text.text.data());
      out.append(std::string_view(text.text).substr(i, next - i),
                 out.tracked ? text.origins.data() + i : nullptr);
      if (next < word.end) put_mark(next);
      i = next + 1;
    }
  }

  void cut(std::string_view text, Span word, std::vector<Span>& words) const {
    const auto mark_size = static_cast<uint32_t>(mark_.size());
    uint32_t begin = word.begin;
    while (begin < word.end) {
      // A mark belongs to the word after it, so that the next cut is before the next mark.
      const bool marked = text.substr(begin, mark_size) == mark_;
      const uint32_t end = find_mark(text, mark_, begin + (marked ? mark_size : 0), word.end);
      words.push_back({begin, end});
      begin = end;
    }
  }

  std::string mark_, prepend_;  // one character in UTF-8; always, never or first
  bool split_;
};

constexpr uint8_t kSeparators = kWhiteSpace | kPunctuation;

void split_part(std::string_view text, Span part, std::vector<Span>& words) {
  static const std::array<uint8_t, 128> ascii = [] {
    std::array<uint8_t, 128> table{};
    for (uint32_t c = 0; c < table.size(); ++c) table[c] = character_properties(c) & kSeparators;
    return table;
  }();
  uint32_t begin = part.begin;
  for (uint32_t i = part.begin; i < part.end;) {
    const auto lead = static_cast<uint8_t>(text[i]);
    uint32_t size = 1;
    uint8_t kind = 0;
    if (lead < 0x80) {
      kind = ascii[lead];
    } else {
      const DecodedCharacter character = decode_valid_character(text, i);
      size = character.size;
      kind = character_properties(character.code_point) & kSeparators;
    }
    const uint32_t next = i + size;
    if (kind != 0) {
      if (begin < i) words.push_back({begin, i});
      if (kind & kPunctuation) words.push_back({i, next});
      begin = next;
    }
    i = next;
  }
  if (begin < part.end) words.push_back({begin, part.end});
}

// Cuts at white space, which is dropped, and around each punctuation character, which is a word of
// its own (Hugging Face's BertPreTokenizer).
class BertPreTokenizer : public PreTokenizer {
 public:
  void split(NormalizedText& text, std::vector<Span>& words, bool) const override {
    if (words.size() == 1) {  // the usual case, without a copy
      const Span whole = words.front();
      words.clear();
      split_part(text.text, whole, words);
      return;
    }
    const std::vector<Span> parts = std::move(words);
    words = {};
    for (const Span part : parts) split_part(text.text, part, words);
  }
};

// One after the other.
class Sequence : public PreTokenizer {
 public:
  explicit Sequence(const JsonObject& json)
      : steps_(read_steps<PreTokenizer>(json, "pretokenizers")) {}

  void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const override {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (i > 0 && steps_[i - 1]->leaves_bytes()) map_bytes(text, words);
      check_text_size(text.text.size());
      steps_[i]->split(text, words, at_start);
    }
  }

  bool leaves_bytes() const override { return !steps_.empty() && steps_.back()->leaves_bytes(); }

  bool needs_start() const override {
    return std::any_of(steps_.begin(), steps_.end(),
                       [](const auto& step) { return step->needs_start(); });
  }

 private:
  std::vector<PreTokenizerPointer> steps_;
};

}  // namespace

template <>
const ComponentTable<PreTokenizer>& component_table() {
  static const ComponentTable<PreTokenizer> table = [] {
    ComponentTable<PreTokenizer> rows = {
        {"BertPreTokenizer", {}, make_part<PreTokenizer, BertPreTokenizer>},
        {"Metaspace",
         {"replacement", "prepend_scheme", "add_prefix_space", "str_rep", "split"},
         make_part<PreTokenizer, Metaspace>}};
    const ComponentTable<PreTokenizer> splits = split_pre_tokenizers();
    rows.insert(rows.end(), splits.begin(), splits.end());
    rows.push_back({"Sequence", {"pretokenizers"}, make_part<PreTokenizer, Sequence>});
    return rows;
  }();
  return table;
}

PreTokenizerPointer make_pre_tokenizer(const Json& json, const std::string& source) {
  return json.is_null() ? nullptr : make_component<PreTokenizer>(json, source + ": pre_tokenizer");
}

}  // namespace simile::detail

namespace simile {

namespace {

constexpr char32_t kFirstOther = 0x100;  // of the characters for bytes that are not printable
constexpr size_t kOthers = 68;

struct Alphabet {
  std::array<char32_t, 256> characters{};
  std::array<uint8_t, kOthers> others{};  // the bytes of U+0100 onward

  Alphabet() {
    size_t count = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (stands_for_itself(byte)) {
        characters[byte] = byte;
      } else {
        characters[byte] = static_cast<char32_t>(kFirstOther + count);
        others[count++] = static_cast<uint8_t>(byte);
      }
    }
  }

  static bool stands_for_itself(char32_t c) {
    return (c >= '!' && c <= '~') || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF);
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

// Rewrites `text` part by part: write(part, out) appends what becomes of it.
template <typename Write>
void rewrite(NormalizedText& text, std::vector<Span>& words, const Write& write) {
  NormalizedText out;
  out.clear(text.tracked);
  out.text.reserve(text.text.size() * 2);
  for (Span& word : words) {
    const auto begin = static_cast<uint32_t>(out.text.size());
    write(word, out);
    word = {begin, static_cast<uint32_t>(out.text.size())};
  }
  text = std::move(out);
}

}  // namespace

char32_t byte_level_character(uint8_t byte) { return alphabet().characters[byte]; }

bool decode_byte_level(std::string_view text, std::string& bytes) {
  for (size_t i = 0; i < text.size();) {
    const DecodedCharacter character = decode_valid_character(text, i);
    const char32_t c = character.code_point;
    i += character.size;
    if (Alphabet::stands_for_itself(c)) {
      bytes.push_back(static_cast<char>(c));
    } else if (c >= kFirstOther && c < kFirstOther + kOthers) {
      bytes.push_back(static_cast<char>(alphabet().others[c - kFirstOther]));
    } else {
      return false;
    }
  }
  return true;
}

void map_bytes(NormalizedText& text, std::vector<Span>& words) {
  const Alphabet& table = alphabet();
  rewrite(text, words, [&](Span word, NormalizedText& out) {
    for (uint32_t i = word.begin; i < word.end; ++i) {
      out.append(table.characters[static_cast<uint8_t>(text.text[i])],
                 text.tracked ? text.origins[i] : Span());
    }
  });
}

void add_prefix_spaces(NormalizedText& text, std::vector<Span>& words) {
  if (words.size() == 1 && words[0].begin == 0 && words[0].end == text.text.size()) {
    if (text.text[0] == ' ') return;
    text.text.insert(text.text.begin(), ' ');
    if (text.tracked) text.origins.insert(text.origins.begin(), text.origins.front());
    ++words[0].end;
    return;
  }
  rewrite(text, words, [&](Span word, NormalizedText& out) {
    const Span* origins = text.tracked ? text.origins.data() + word.begin : nullptr;
    if (text.text[word.begin] != ' ') out.append(" ", origins);
    out.append(std::string_view(text.text).substr(word.begin, word.end - word.begin), origins);
  });
}

}  // namespace simile
