// SPDX-License-Identifier: Apache-2.0
// The words of a segment's documents, in a file beside its vectors that never changes: for each
// word the rows that have it, and how often.
//
// The file, all numbers little-endian:
//
//   byte 0   16 bytes  "simile words" and four zeros
//   16       uint32    version of this layout: 1
//   20       uint32    zero
//   24       int64     n, the rows of the segment
//   32       int64     W, the number of different words
//   40       int64     bytes of the words
//   48       int64     bytes of the postings
//   56       32 bytes  the checksum that the segment's header has of itself, as text
//   88       32 bytes  checksum of all behind the header, as text: hash_bytes() (core/hash.h)
//   120      32 bytes  checksum of bytes 0 to 119
//   152      8 zeros
//   160      W + 1 int64, where each word begins; W + 1 int64, where its postings begin; W uint32,
//            the number of rows with the word; n uint32, the number of words of each row; then the
//            words, in the order of their bytes; then the postings: for each row, rising, its
//            difference to the row before and the count, as numbers of 7 bits a byte, the lowest
//            first, in which every byte but the last has its highest bit set
//
// Errors: kInput for a file that is damaged or of another segment; kIo for one that cannot be
// written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simile/core/file.h"

namespace simile::detail {

// Beside the segment at `segment_path`.
inline std::string words_path(const std::string& segment_path) { return segment_path + ".words"; }

struct WordCount {
  int32_t word = 0;
  uint32_t count = 0;
};

// The words of a text and how often it has each, in the order of their bytes.
std::vector<std::pair<std::string, uint32_t>> count_words(std::string_view text);

// Collects the words of rows, one after the other, and writes them.
class WordFileWriter {
 public:
  // The number of a word here.
  int32_t number_of(std::string_view word);
  // The next row; `words` have such numbers, each once.
  void add_row(const std::vector<WordCount>& words);

  int64_t rows() const { return static_cast<int64_t>(lengths_.size()); }
  // `segment_checksum`: 32 characters.
  void write(const std::string& path, const std::string& segment_checksum) const;

 private:
  struct Postings {
    std::string bytes;
    int64_t last_row = 0;
    uint32_t rows = 0;
  };

  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<Postings> postings_;  // by a word's number
  std::vector<uint32_t> lengths_;
};

class WordFile {
 public:
  // Reads and verifies all of it.
  WordFile(const std::string& path, const std::string& segment_checksum, int64_t rows);

  int64_t words() const { return words_; }
  std::string_view word(int64_t i) const;
  int64_t find(std::string_view word) const;  // -1: no row has it
  int64_t rows_with(int64_t i) const { return rows_with_[i]; }
  int64_t length(int64_t row) const { return lengths_[row]; }

  // use(row, count) for the rows with word i, rising.
  template <typename Use>
  void for_each(int64_t i, const Use& use) const {
    const char* at = postings_ + posting_starts_[i];
    int64_t row = 0;
    for (uint32_t left = rows_with_[i]; left > 0; --left) {
      row += read_number(at);
      const uint32_t count = read_number(at);
      use(row, count);
    }
  }

  // The words of each row, by their numbers here.
  std::vector<std::vector<WordCount>> by_row() const;

 private:
  static uint32_t read_number(const char*& at) {
    uint32_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at++);
      number |= uint32_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return number;
    }
  }

  MappedFile file_;
  int64_t words_ = 0;
  int64_t rows_ = 0;
  const int64_t* word_starts_ = nullptr;
  const int64_t* posting_starts_ = nullptr;
  const uint32_t* rows_with_ = nullptr;
  const uint32_t* lengths_ = nullptr;
  const char* text_ = nullptr;
  const char* postings_ = nullptr;
};

}  // namespace simile::detail
