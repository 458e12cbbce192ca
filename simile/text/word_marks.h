// SPDX-License-Identifier: Apache-2.0
// Where the words of a query stand in a text, for a reader: as the web page marks them
// (simile/serve/web/marking.js). Words are compared without case, accents and other marks; the
// commonest English words are left out where the query has others; a word of four letters or more
// is also found with up to three letters more at its end, or without them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace simile {

// Bytes [begin, end) of a text.
struct WordMark {
  size_t begin = 0, end = 0;
};

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
