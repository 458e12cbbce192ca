// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "simile/core/check.h"
#include "simile/text/normalizer.h"
#include "simile/text/unicode.h"

namespace simile {
namespace {

constexpr size_t kWholeBelow = 6;  // bytes of a cluster that is looked up whole

uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & ((1U << 31) | 0xFF); }  // never a byte for values
bool has_value(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & ((1U << 31) - 1); }

// Writes the new text and keeps step with the old one, whose origins it hands out.
class Writer {
 public:
  Writer(const NormalizedText& in, NormalizedText& out) : in_(in), out_(out) {}

  void keep(std::string_view part) {
    // The cursor lags where the bytes there are others than those of this unchanged piece.
    if (in_.tracked && in_.text.compare(cursor_, part.size(), part) != 0) {
      for (size_t i = 0; i < part.size();) {
        const size_t size = decode_valid_character(part, i).size;
        put(part.substr(i, size));
        i += size;
      }
      return;
    }
    out_.append(part, in_.tracked ? in_.origins.data() + cursor_ : nullptr);
    cursor_ += part.size();
    last_added_ = false;
  }

  void replace(std::string_view part, std::string_view text) {
    if (!in_.tracked) {
      out_.text += text;
      return;
    }
    const size_t before = count_characters(part);
    const size_t after = count_characters(text);
    size_t written = 0;
    for (size_t i = 0; i < text.size(); ++written) {
      const size_t size = decode_valid_character(text, i).size;
      if (written < before) {
        put(text.substr(i, size));
      } else {
        add(text.substr(i, size));
      }
      i += size;
    }
    if (after < before) remove(before - after);
  }

 private:
  void skip_character() {
    if (cursor_ < in_.text.size()) cursor_ += decode_valid_character(in_.text, cursor_).size;
  }

  void write(std::string_view character, Span origin) {
    out_.text += character;
    out_.origins.resize(out_.text.size(), origin);
  }

  void put(std::string_view character) {
    write(character, in_.origins[cursor_]);
    skip_character();
    last_added_ = false;
  }

  void add(std::string_view character) {
    write(character, in_.origins[cursor_ == 0 ? 0 : cursor_ - 1]);
    last_added_ = true;
  }

  void remove(size_t characters) {
    if (out_.text.empty()) return;
    if (last_added_ && cursor_ < in_.text.size()) {
      for (size_t i = out_.text.size(); i-- > 0;) {
        out_.origins[i] = in_.origins[cursor_];
        if (!continues_character(out_.text[i])) break;
      }
    }
    last_added_ = false;
    for (size_t i = 0; i < characters; ++i) skip_character();
  }

  const NormalizedText& in_;
  NormalizedText& out_;
  size_t cursor_ = 0;        // how far the old text is used up
  bool last_added_ = false;  // whether the last character written stands for no old one
};

class PrecompiledNormalizer : public Normalizer {
 public:
  PrecompiledNormalizer(std::string_view table, const std::string& where) {
    uint32_t trie_bytes = 0;
    SIMILE_CHECK(table.size() >= sizeof trie_bytes, ErrorKind::kInput,
                 "{}: the character table has {} bytes; expected at least 4", where, table.size());
    for (int i = 3; i >= 0; --i) trie_bytes = trie_bytes << 8 | static_cast<uint8_t>(table[i]);
    table.remove_prefix(sizeof trie_bytes);
    SIMILE_CHECK(trie_bytes > 0 && trie_bytes % 4 == 0 && trie_bytes <= table.size(),
                 ErrorKind::kInput,
                 "{}: the character table says that its trie has {} bytes; expected a "
                 "multiple of 4 up to the {} bytes that follow",
                 where, trie_bytes, table.size());
    units_.resize(trie_bytes / 4);
    for (size_t i = 0; i < trie_bytes; ++i) {
      units_[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(table[i])) << (i % 4 * 8);
    }
    texts_ = table.substr(trie_bytes);
    SIMILE_CHECK(is_valid_utf8(texts_), ErrorKind::kInput,
                 "{}: the texts of the character table are not valid UTF-8", where);
    check_values(where);
    for (size_t c = 0; c < ascii_.size(); ++c) {
      const char byte = static_cast<char>(c);
      ascii_[c] = find({&byte, 1});
    }
  }

  void normalize(const NormalizedText& in, NormalizedText& out) const override {
    out.clear(in.tracked);
    out.text.reserve(in.text.size() + 16);
    if (in.tracked) out.origins.reserve(in.text.size() + 16);
    Writer writer(in, out);
    const std::string_view text = in.text;
    const auto is_ascii = [&](size_t i) {
      return i < text.size() && static_cast<uint8_t>(text[i]) < 0x80;
    };
    for (size_t i = 0; i < text.size();) {
      // ASCII characters that stay and that nothing can join.
      size_t plain = i;
      while (is_ascii(plain) && ascii_[static_cast<uint8_t>(text[plain])] == kNone &&
             text[plain] != '\r' && (plain + 1 == text.size() || is_ascii(plain + 1))) {
        ++plain;
      }
      if (plain > i) {
        writer.keep(text.substr(i, plain - i));
        i = plain;
        continue;
      }
      const size_t end = grapheme_end(text, i);
      const std::string_view cluster = text.substr(i, end - i);
      const int64_t whole = cluster.size() < kWholeBelow ? find(cluster) : kNone;
      if (whole != kNone) {
        writer.replace(cluster, text_at(whole));
        check_text_size(out.text.size());
        i = end;
        continue;
      }
      while (i < end) {
        const size_t size = decode_valid_character(text, i).size;
        const int64_t single = find(text.substr(i, size));
        if (single == kNone) {
          writer.keep(text.substr(i, size));
        } else {
          writer.replace(text.substr(i, size), text_at(single));
          check_text_size(out.text.size());
        }
        i += size;
      }
    }
  }

 private:
  static constexpr int64_t kNone = -1;

  // Visits every unit that a look-up can reach, each once.
  void check_values(const std::string& where) const {
    std::vector<bool> seen(units_.size());
    std::vector<uint32_t> open;
    const auto visit_children = [&](uint32_t base) {
      for (uint32_t byte = 1; byte < 256; ++byte) {
        const uint32_t place = base ^ byte;
        if (place >= units_.size() || label_of(units_[place]) != byte || seen[place]) continue;
        seen[place] = true;
        open.push_back(place);
      }
    };
    visit_children(offset_of(units_[0]));
    while (!open.empty()) {
      const uint32_t place = open.back();
      open.pop_back();
      const uint32_t base = place ^ offset_of(units_[place]);
      visit_children(base);
      if (!has_value(units_[place])) continue;
      const uint64_t value = base < units_.size() ? value_of(units_[base]) : texts_.size() + 1;
      const bool starts_text = value <= texts_.size() && !inside_character(texts_, value);
      SIMILE_CHECK(starts_text, ErrorKind::kInput,
                   "{}: the character table is damaged: unit {} of its trie points to no text",
                   where, place);
    }
  }

  // Where the text that replaces `part` starts in texts_; kNone without an entry.
  int64_t find(std::string_view part) const {
    uint32_t base = offset_of(units_[0]);
    for (const char c : part) {
      const uint32_t byte = static_cast<uint8_t>(c);
      const uint32_t place = base ^ byte;
      if (byte == 0 || place >= units_.size() || label_of(units_[place]) != byte) return kNone;
      base = place ^ offset_of(units_[place]);
      if (has_value(units_[place])) return value_of(units_[base]);
    }
    return kNone;
  }

  std::string_view text_at(int64_t begin) const {
    const std::string_view rest = std::string_view(texts_).substr(static_cast<size_t>(begin));
    return rest.substr(0, std::min(rest.find('\0'), rest.size()));
  }

  std::vector<uint32_t> units_;
  std::string texts_;
  std::array<int64_t, 128> ascii_{};  // find() of each ASCII character
};

}  // namespace

std::unique_ptr<const Normalizer> make_precompiled_normalizer(std::string_view table,
                                                              const std::string& where) {
  return std::make_unique<PrecompiledNormalizer>(table, where);
}

}  // namespace simile
