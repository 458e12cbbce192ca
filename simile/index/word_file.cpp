// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/word_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "simile/core/detail/file_header.h"
#include "simile/core/error.h"
#include "simile/core/hash.h"
#include "simile/text/words.h"

namespace simile::detail {
namespace {

struct WordHeader {
  char magic[16] = "simile words\0\0\0";
  uint32_t version = 1;
  uint32_t zero = 0;
  int64_t rows = 0;
  int64_t words = 0;
  int64_t word_bytes = 0;
  int64_t posting_bytes = 0;
  char segment[kChecksumDigits] = {};
  char contents[kChecksumDigits] = {};
  char checksum[kChecksumDigits] = {};
  char zeros[8] = {};
};
static_assert(sizeof(WordHeader) == 160, "the header has no gaps");

void append_number(std::string& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

template <typename T>
void append_all(std::string& bytes, const std::vector<T>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// What stands behind the header.
size_t content_bytes(const WordHeader& header) {
  const auto words = static_cast<size_t>(header.words), rows = static_cast<size_t>(header.rows);
  return 2 * (words + 1) * sizeof(int64_t) + (words + rows) * sizeof(uint32_t) +
         static_cast<size_t>(header.word_bytes) + static_cast<size_t>(header.posting_bytes);
}

}  // namespace

std::vector<std::pair<std::string, uint32_t>> count_words(std::string_view text) {
  std::vector<std::string> words = split_words(text);
  std::sort(words.begin(), words.end());
  std::vector<std::pair<std::string, uint32_t>> counted;
  for (std::string& word : words) {
    if (counted.empty() || counted.back().first != word) counted.emplace_back(std::move(word), 0);
    ++counted.back().second;
  }
  return counted;
}

int32_t WordFileWriter::number_of(std::string_view word) {
  const auto [place, is_new] =
      numbers_.emplace(std::string(word), static_cast<int32_t>(numbers_.size()));
  if (is_new) postings_.emplace_back();
  return place->second;
}

void WordFileWriter::add_row(const std::vector<WordCount>& words) {
  const int64_t row = rows();
  uint32_t length = 0;
  for (const WordCount& entry : words) {
    Postings& postings = postings_[static_cast<size_t>(entry.word)];
    append_number(postings.bytes, static_cast<uint64_t>(row - postings.last_row));
    append_number(postings.bytes, entry.count);
    postings.last_row = row;
    ++postings.rows;
    length += entry.count;
  }
  lengths_.push_back(length);
}

void WordFileWriter::write(const std::string& path, const std::string& segment_checksum) const {
  std::vector<std::pair<std::string_view, int32_t>> sorted(numbers_.begin(), numbers_.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> word_starts = {0}, posting_starts = {0};
  std::vector<uint32_t> rows_with;
  std::string words, postings;
  for (const auto& [word, number] : sorted) {
    const Postings& of_word = postings_[static_cast<size_t>(number)];
    words += word;
    postings += of_word.bytes;
    rows_with.push_back(of_word.rows);
    word_starts.push_back(static_cast<int64_t>(words.size()));
    posting_starts.push_back(static_cast<int64_t>(postings.size()));
  }
  std::string contents;
  append_all(contents, word_starts);
  append_all(contents, posting_starts);
  append_all(contents, rows_with);
  append_all(contents, lengths_);
  contents += words;
  contents += postings;

  WordHeader header;
  header.rows = rows();
  header.words = static_cast<int64_t>(sorted.size());
  header.word_bytes = word_starts.back();
  header.posting_bytes = posting_starts.back();
  set_field(header.segment, segment_checksum);
  set_field(header.contents, hash_bytes(contents));
  set_field(header.checksum, header_checksum(header));
  AtomicFile file(path);
  file.write(bytes_of(&header, 1));
  file.write(contents);
  file.commit();
}

WordFile::WordFile(const std::string& path, const std::string& segment_checksum, int64_t rows)
    : file_(path), rows_(rows) {
  const std::string_view bytes = file_.bytes();
  const auto header = read_header<WordHeader>(bytes, path);
  check_file(header.version == WordHeader().version, path, "its layout is another");
  check_file(field_text(header.segment) == segment_checksum && header.rows == rows, path,
             "it belongs to another segment");
  check_file(bytes.size() == sizeof header + content_bytes(header) &&
                 field_text(header.contents) == hash_bytes(bytes.substr(sizeof header)),
             path, "checksum mismatch in its words");
  words_ = header.words;
  word_starts_ = reinterpret_cast<const int64_t*>(bytes.data() + sizeof header);
  posting_starts_ = word_starts_ + words_ + 1;
  rows_with_ = reinterpret_cast<const uint32_t*>(posting_starts_ + words_ + 1);
  lengths_ = rows_with_ + words_;
  text_ = reinterpret_cast<const char*>(lengths_ + rows);
  postings_ = text_ + header.word_bytes;
}

std::string_view WordFile::word(int64_t i) const {
  return {text_ + word_starts_[i], static_cast<size_t>(word_starts_[i + 1] - word_starts_[i])};
}

int64_t WordFile::find(std::string_view wanted) const {
  int64_t begin = 0, end = words_;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (word(middle) < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin < words_ && word(begin) == wanted ? begin : -1;
}

std::vector<std::vector<WordCount>> WordFile::by_row() const {
  std::vector<std::vector<WordCount>> rows(static_cast<size_t>(rows_));
  for (int64_t i = 0; i < words_; ++i) {
    for_each(i, [&](int64_t row, uint32_t count) {
      rows[static_cast<size_t>(row)].push_back({static_cast<int32_t>(i), count});
    });
  }
  return rows;
}

}  // namespace simile::detail
