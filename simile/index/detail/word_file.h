// SPDX-License-Identifier: Apache-2.0
// The words of a segment's documents, in a file beside its vectors that never changes: for each
// word the rows that have it, and how often.
//
// The file, all numbers little-endian:
//
//   byte 0   16 bytes  "simile words" and four zeros
//   16       uint32    version of this layout: 2
//   20       uint32    F, the number of frequent postings
//   24       int64     n, the rows of the segment: at most 65,536
//   32       int64     W, the number of different words
//   40       int64     bytes of the words
//   48       int64     P, the number of postings
//   56       32 bytes  the checksum that the segment's header has of itself, as text
//   88       32 bytes  checksum of all behind the header, as text: hash_bytes() (core/hash.h)
//   120      32 bytes  checksum of bytes 0 to 119
//   152      8 zeros
//   160      W + 1 uint32, where each word begins; W + 1 uint32, where its postings begin; n uint32,
//            the number of words of each row; 32 uint32, the least length of each class of lengths;
//            F pairs of uint32, a posting and its count; P uint16, their rows, which rise within a
//            word; P bytes, their codes; then the words, in the order of their bytes
//
// A posting is a row that has a word. Its code is 32 (c - 1) + l: c is how often the row has the
// word, 8 standing for 8 and more (the frequent postings, whose counts are listed), and l the class
// of the row's length. The classes hold about equally many rows. So a search can bound the weight
// of a posting by its code alone, whatever the mean length of the documents is.
//
// Errors: kInput for a file that is damaged or of another segment, and for more words than a
// segment holds; kIo for one that cannot be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simile/core/file.h"

namespace simile::detail {

constexpr int64_t kMostWordRows = 65536;  // of a segment

// Beside the segment at `segment_path`.
inline std::string words_path(const std::string& segment_path) { return segment_path + ".words"; }

struct WordCount {
  int32_t word = 0;
  uint32_t count = 0;
};

// The words of a text (split_words()) and how often it has each, in the order of their bytes.
std::vector<std::pair<std::string, uint32_t>> count_words(std::string_view text,
                                                          const std::string& language = "none");

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
  // Packs a word's postings: for each row, rising, its difference to the row before and the count,
  // in 7 bits a byte, the lowest first; every byte but the last has its highest bit set.
  struct Postings {
    std::string bytes;
    int64_t last_row = 0;
    uint32_t rows = 0;
  };

  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<Postings> postings_;  // by a word's number
  std::vector<uint32_t> lengths_;
};

constexpr int kCountClasses = 8, kLengthClasses = 32;

// The rows that have a word, rising, with their codes.
struct WordPostings {
  const uint16_t* rows = nullptr;
  const uint8_t* codes = nullptr;
  int64_t size = 0;
};

class WordFile {
 public:
  // Reads and verifies all of it. `path`, for messages, is the file's.
  WordFile(std::shared_ptr<const MappedFile> file, const std::string& path,
           const std::string& segment_checksum, int64_t rows);

  int64_t rows() const { return rows_; }
  int64_t words() const { return words_; }
  std::string_view word(int64_t i) const;
  int64_t find(std::string_view word) const;  // -1: no row has it
  int64_t rows_with(int64_t i) const { return posting_starts_[i + 1] - posting_starts_[i]; }
  int64_t length(int64_t row) const { return lengths_[row]; }
  int64_t total_length() const { return total_length_; }  // of all rows
  int64_t least_length(int length_class) const { return least_lengths_[length_class]; }

  WordPostings postings(int64_t i) const {
    return {posting_rows_ + posting_starts_[i], codes_ + posting_starts_[i], rows_with(i)};
  }
  // How often the row of a posting has its word; `code` points to the posting's.
  uint32_t count(const uint8_t* code) const {
    const int count_class = *code / kLengthClasses;
    return count_class + 1 < kCountClasses ? static_cast<uint32_t>(count_class + 1)
                                           : frequent_count(code);
  }

  // use(row, count) for the rows with word i, rising.
  template <typename Use>
  void for_each(int64_t i, const Use& use) const {
    const WordPostings found = postings(i);
    for (int64_t k = 0; k < found.size; ++k) use(int64_t{found.rows[k]}, count(found.codes + k));
  }

  // The words of each row, by their numbers here.
  std::vector<std::vector<WordCount>> by_row() const;

 private:
  struct Frequent {
    uint32_t posting, count;
  };
  uint32_t frequent_count(const uint8_t* code) const;

  std::shared_ptr<const MappedFile> file_;
  int64_t words_ = 0;
  int64_t rows_ = 0;
  int64_t frequent_postings_ = 0;
  int64_t total_length_ = 0;
  const uint32_t* word_starts_ = nullptr;
  const uint32_t* posting_starts_ = nullptr;
  const uint32_t* lengths_ = nullptr;
  const uint32_t* least_lengths_ = nullptr;
  const Frequent* frequent_ = nullptr;
  const uint16_t* posting_rows_ = nullptr;
  const uint8_t* codes_ = nullptr;
  const char* text_ = nullptr;
};

}  // namespace simile::detail
