// SPDX-License-Identifier: Apache-2.0
// The second step of tokenising: cutting the normalised text into words.
//
// A pre-tokeniser is an immutable object, safe to use from several threads. make_pre_tokenizer()
// makes it from the "pre_tokenizer" of a tokenizer.json (detail/components.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simile/text/normalizer.h"
#include "simile/text/text_pattern.h"

namespace simile {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Replaces `words`, which are parts of `text` in order, by the words they are cut into. May
  // rewrite `text` itself (as byte-level pre-tokenisers do). `at_start` says that `text` begins at
  // byte 0 of the original.
  virtual void split(NormalizedText& text, std::vector<Span>& words, bool at_start) const = 0;
  // Whether the words are left as plain UTF-8 that is to be read as byte-level characters, one for
  // each byte: by the model itself, or after map_bytes() has written them out.
  virtual bool leaves_bytes() const { return false; }
  // Whether split() has to be told `at_start` exactly, which takes origins: without them a text
  // whose first characters the normaliser dropped counts as beginning the original.
  virtual bool needs_start() const { return false; }
};

// In each part: every ' ' becomes the mark; the mark is put in front of a part that does not start
// with it, always, never, or only (kFirst) of the part whose first character is at byte 0 of the
// original text; then (with `split`) the part is cut before each mark. The mark put in front has
// the origin of the character after it. Hugging Face's Metaspace.
struct MetaspaceSettings {
  enum class Prepend { kAlways, kNever, kFirst };
  std::string mark = "\u2581";  // one character, UTF-8
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};
std::unique_ptr<const PreTokenizer> make_metaspace(const MetaspaceSettings& settings);

// What becomes of the matches, shown on "a--b" cut at "-".
enum class SplitBehavior {
  kRemoved,             // "a" "b"
  kIsolated,            // "a" "-" "-" "b"
  kMergedWithPrevious,  // "a-" "-" "b"
  kMergedWithNext,      // "a" "-" "-b"
  kContiguous,          // "a" "--" "b"
};

// "Split": cuts each part where the pattern matches. With `invert` the matches are what is between
// them, and the other way round. Empty words are left out.
std::unique_ptr<const PreTokenizer> make_split(TextPattern pattern, SplitBehavior behavior,
                                               bool invert);

// Byte-level tokenising (GPT-2): every byte of the text is written as one visible character, so
// that a vocabulary of characters covers all bytes. Printable Latin-1 bytes stand for themselves,
// the others, in order, for U+0100 onward; a space is U+0120. This is the character of a byte.
//
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019 (their code,
// encoder.py).
char32_t byte_level_character(uint8_t byte);

// Appends the bytes that the characters of `text` stand for. False (with some appended): one of
// them stands for none.
bool decode_byte_level(std::string_view text, std::string& bytes);

// Rewrites `text`, of which only `words` (in order, without overlap) are kept, in byte-level
// characters.
void map_bytes(NormalizedText& text, std::vector<Span>& words);

// Puts a space before each of `words` (as above) that does not begin with one.
void add_prefix_spaces(NormalizedText& text, std::vector<Span>& words);

}  // namespace simile
