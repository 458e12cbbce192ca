// SPDX-License-Identifier: Apache-2.0
// A text on its way through the tokenizer, and where each of its bytes came from; and the first
// step of tokenising: rewriting the text (cleaning, lower case, accents).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/utf8.h"

namespace simile {

// Bytes [begin, end) of some text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const Span& other) const { return begin == other.begin && end == other.end; }
};

struct NormalizedText {
  std::string text;           // valid UTF-8
  bool tracked = false;       // whether origins are kept
  std::vector<Span> origins;  // tracked: for each byte of `text`, the original character's bytes

  // Takes `source`, which begins at byte `offset` of the original, replacing broken UTF-8 by
  // U+FFFD. Returns how many replacements that took.
  int64_t assign(std::string_view source, uint32_t offset, bool track);

  void clear(bool track);
  // Appends one character that comes from the original bytes `origin`.
  void append(char32_t code_point, Span origin);
  // Appends valid UTF-8 that comes, byte for byte, from the given origins (read when tracked).
  void append(std::string_view bytes, const Span* byte_origins);

  // Where `part` of this text was in the original; part must not be empty, and tracked be set.
  Span origin_of(Span part) const { return {origins[part.begin].begin, origins[part.end - 1].end}; }
};

// Steps in sequence can multiply a text without end. Errors (kInput): more bytes than allowed.
void check_text_size(size_t bytes);

// An immutable object, safe to use from several threads, which detail::make_normalizer() makes from
// the "normalizer" of a tokenizer.json (detail/components.h).
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Writes the normal form of `in` to `out` (another object), with origins if `in` has them.
  virtual void normalize(const NormalizedText& in, NormalizedText& out) const = 0;
};

// The forms of Unicode Standard Annex #15, as Hugging Face's "NFC", "NFD", "NFKC" and "NFKD". A
// character made from several has the origin of the first; those made from one have its origin.
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };
std::unique_ptr<const Normalizer> make_unicode_normalizer(UnicodeForm form);

struct BertNormalizerSettings {
  bool clean_text = true;            // drops control characters and U+FFFD, white space becomes ' '
  bool handle_chinese_chars = true;  // puts a space on both sides of CJK ideographs
  bool strip_accents = true;         // canonical decomposition (NFD), then drops category Mn
  bool lowercase = true;             // character by character, without context
};
// The steps above, in that order, as Hugging Face's BertNormalizer does them.
std::unique_ptr<const Normalizer> make_bert_normalizer(const BertNormalizerSettings& settings);

// Applies a sentencepiece "precompiled_charsmap" as Hugging Face's Precompiled does: a grapheme
// cluster of less than 6 bytes is looked up whole, and, if the table lacks it or the cluster is
// longer, character by character; characters that the table lacks stay as they are. A look-up takes
// the shortest entry that the looked-up bytes begin with, and replaces all of them: a mark on a
// character that has an entry of its own is therefore lost.
//
// Origins are the library's as well: an added character has the origin of the character before it;
// a removal before the first written character is not counted, which shifts all later origins.
//
// The table: a little-endian uint32 (size of the trie in bytes), a trie of 32-bit units in the
// darts-clone layout, then texts that end with a zero byte, which the trie's values point into.
//
// Errors (kInput, naming `where`): a table that is cut short, is not UTF-8, or whose trie has a
// value that points outside the texts.
std::unique_ptr<const Normalizer> make_precompiled_normalizer(std::string_view table,
                                                              const std::string& where);

}  // namespace simile

namespace simile::detail {

// Writes a normalised text character by character, keeping account of which characters of the input
// each stands for as the `tokenizers` library does, so that offsets agree with it.
class AlignedWriter {
 public:
  // Both texts must outlive the writer; `out` is emptied.
  AlignedWriter(const NormalizedText& in, NormalizedText& out) : in_(in), out_(out) {
    out.clear(in.tracked);
    out.text.reserve(in.text.size() + 16);
    if (in.tracked) out.origins.reserve(in.text.size() + 16);
  }

  // Leaves out the next `count` characters of the input.
  void skip(size_t count) {
    if (!in_.tracked) return;
    for (; count > 0 && at_ < in_.text.size(); --count) at_ += character_size();
  }

  // Writes `c`. change <= 0: in place of the next 1 - change characters of the input, with the
  // origin of the first of them; change > 0: beside them, with the last taken character's origin.
  void put(char32_t c, int change) {
    Span origin;
    if (in_.tracked) {
      if (change > 0) {
        origin = last_origin();
      } else {
        origin = at_ < in_.text.size() ? in_.origins[at_] : last_origin();
        skip(static_cast<size_t>(1 - change));
      }
    }
    out_.append(c, origin);
  }

  // Writes the next `size` bytes of the input, which are whole characters, unchanged. `begin` is
  // their place; only for writers that take every character in turn.
  void copy(size_t begin, size_t size) {
    out_.append(std::string_view(in_.text).substr(begin, size),
                in_.tracked ? in_.origins.data() + begin : nullptr);
    at_ = begin + size;
  }

 private:
  size_t character_size() const { return decode_valid_character(in_.text, at_).size; }

  Span last_origin() const {
    if (at_ > 0) return in_.origins[at_ - 1];
    const uint32_t begin = in_.origins.empty() ? 0 : in_.origins.front().begin;
    return {begin, begin};
  }

  const NormalizedText& in_;
  NormalizedText& out_;
  size_t at_ = 0;  // bytes of the input taken; kept only when origins are
};

}  // namespace simile::detail
