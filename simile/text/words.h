// SPDX-License-Identifier: Apache-2.0
// The forms of texts and words for counting, comparing and searching.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

// The words of a text, as lexical scores, indexes and batch orders count them: maximal runs of
// Unicode letters, digits, numbers and combining marks, normalised and case folded (NFKC_Casefold).
// So all spellings of a word are one: composed or not, capitals, final sigma, ligatures, full
// width, invisible characters such as the soft hyphen, vowel points of Arabic and Hebrew. Runs with
// characters of scripts that write no spaces (Han, Kana, Thai, Lao, Khmer, Myanmar) are cut by
// ICU's dictionaries, those of Hangul into pairs of syllables. Why, in
// figures: docs/results/words.md. Broken UTF-8 and the zero width space separate words.
//
// `language`: one of word_languages(), by whose rules words are cut to their stems (Snowball's
// libstemmer). Errors: kUsage for another name. Thread-safe.
std::vector<std::string> split_words(std::string_view text, const std::string& language = "none");

// "none", then the languages that have a stemmer, sorted.
const std::vector<std::string>& word_languages();

// The version of these rules. Raise it with every change of them: an index keeps the version that
// its words were cut by, and one of another version is refused.
constexpr int64_t kWordRules = 2;

// Text in lower case as Python's str.lower() has it: full case mapping, also those mappings that
// depend on a character's context (the Greek sigma at the end of a word), no language's own rules.
// Broken UTF-8 becomes U+FFFD.
std::string lower_text(const std::string& text);

// A form that is equal for texts that read the same: case folded, compatibility characters unified
// (NFKC), and runs of anything but letters, marks and digits turned into one space.
//
//   "The  Cat's 9½ lives: ﬁne!" -> "the cat s 91 2 lives fine"
//
// `text` is UTF-8. No space at either end; empty when no letter or digit is there.
// Errors: ErrorKind::kFailed when ICU lacks its data. Thread-safe.
std::string comparison_form(std::string_view text);

// The key by which texts are compared: the comparison form or, if that is empty, the text as it is.
// So "?" and "!" are two texts, and so are "" and " ". No form equals such a text.
std::string comparison_key(std::string_view text);

// The number of words of a comparison form or key; 0 for a key that is not a form.
int64_t form_words(std::string_view form);

// Bytes [begin, end) of a text.
struct WordMark {
  size_t begin = 0, end = 0;
};

// Finds the words of a query in a text, to mark them for a reader, much as the web page does
// (simile/serve/web/marking.js). Words are those of split_words(), compared without accents and
// other marks; the commonest English words are left out if the query has others. A word of four
// letters or more is also found with up to three letters more or less at its end, or by its stem.
class WordMarker {
 public:
  explicit WordMarker(std::string_view query, std::string language = "none");

  // Rising; within the first 100,000 bytes.
  std::vector<WordMark> find(std::string_view text) const;
  // The same in characters (code points).
  std::vector<WordMark> find_characters(std::string_view text) const;

 private:
  std::vector<std::string> words_;
  std::string language_;
  std::set<std::string> stems_;
};

}  // namespace simile
