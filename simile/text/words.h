// SPDX-License-Identifier: Apache-2.0
// Texts and words in the forms in which they are counted, compared and looked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

// The words of a text, as lexical scores and batch orders count them: maximal runs of Unicode
// letters, digits and combining marks, in lower case (code point by code point); every ideograph
// is a word of its own. Broken UTF-8 separates words.
std::vector<std::string> split_words(std::string_view text);

// Text in lower case as Python's str.lower() has it: full case mapping, also those mappings that
// depend on what stands around a character (the Greek sigma at the end of a word), no language's
// own rules. Broken UTF-8 becomes U+FFFD.
std::string lower_text(const std::string& text);

// The form in which two texts are the same text for a reader: case folded, compatibility characters
// unified (NFKC), and everything but letters, marks and digits one space.
//
//   "The  Cat's 9½ lives: ﬁne!" -> "the cat s 91 2 lives fine"
//
// `text` is UTF-8. No space at either end; empty when no letter or digit is there.
// Errors: ErrorKind::kFailed when ICU lacks its data. Thread-safe.
std::string comparison_form(std::string_view text);

// What tells a text from others: its comparison form or, where no letter or digit is there, the
// text as it is: "?" and "!" are two texts, and so are "" and " ". No form equals such a text.
std::string comparison_key(std::string_view text);

// Words of a comparison form, or of a comparison key; 0 of a key that is no form.
int64_t form_words(std::string_view form);

// Bytes [begin, end) of a text.
struct WordMark {
  size_t begin = 0, end = 0;
};

// Where the words of a query stand in a text, for a reader: as the web page marks them
// (simile/serve/web/marking.js). Words are compared without case, accents and other marks; the
// commonest English words are left out where the query has others; a word of four letters or more
// is also found with up to three letters more at its end, or without them.
class WordMarker {
 public:
  explicit WordMarker(std::string_view query);

  // Rising; within the first 100,000 bytes.
  std::vector<WordMark> find(std::string_view text) const;
  // The same in characters (code points).
  std::vector<WordMark> find_characters(std::string_view text) const;

 private:
  std::vector<std::string> words_;
};

}  // namespace simile
