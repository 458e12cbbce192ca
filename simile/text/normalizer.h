// SPDX-License-Identifier: Apache-2.0
// The first step of tokenising: rewriting the text (cleaning, lower case, accents).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "simile/text/normalized_text.h"

namespace simile {

// An immutable object, safe to use from several threads, which detail::make_normalizer() makes from
// the "normalizer" of a tokenizer.json (detail/components.h).
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Writes the normal form of `in` to `out` (another object), with origins if `in` has them.
  virtual void normalize(const NormalizedText& in, NormalizedText& out) const = 0;
};

// The forms of Unicode Standard Annex #15, as Hugging Face's "NFC", "NFD", "NFKC" and "NFKD". A
// character made from several stands for the first of them; those that one becomes all stand for
// it.
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
// cluster of less than 6 bytes is looked up whole, and if the table has nothing, as all longer
// ones, character by character; what the table does not know stays as it is. A look-up takes the
// shortest entry that the looked-up bytes begin with, and replaces all of them: a mark on a
// character that has an entry of its own is therefore lost.
//
// Origins are the library's as well: an added character has the origin of the character before it;
// a removal before the first written character is not counted, which shifts all later origins.
//
// The table: a little-endian uint32 (size of the trie in bytes), a trie of 32-bit units in the
// darts-clone layout, then texts that end with a zero byte, which the trie's values point into.
//
// Errors (kInput, naming `where`): a table that is cut short, is not UTF-8, or whose trie has a value
// that points outside the texts.
std::unique_ptr<const Normalizer> make_precompiled_normalizer(std::string_view table,
                                                              const std::string& where);

}  // namespace simile
