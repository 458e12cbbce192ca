// SPDX-License-Identifier: Apache-2.0
#include "simile/index/detail/word_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "simile/core/check.h"
#include "simile/core/detail/file_header.h"
#include "simile/core/hash.h"
#include "simile/text/words.h"

namespace simile::detail {
namespace {

struct WordHeader {
  char magic[16] = "simile words\0\0\0";
  uint32_t version = 2;
  uint32_t frequent = 0;
  int64_t rows = 0;
  int64_t words = 0;
  int64_t word_bytes = 0;
  int64_t postings = 0;
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

uint32_t read_number(const char*& at) {
  uint32_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    number |= uint32_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return number;
  }
}

// The number of bytes behind the header.
size_t content_bytes(const WordHeader& header) {
  const auto words = static_cast<size_t>(header.words), rows = static_cast<size_t>(header.rows);
  const auto numbers = 2 * (words + 1) + rows + kLengthClasses + 2 * size_t{header.frequent};
  return numbers * sizeof(uint32_t) + static_cast<size_t>(header.postings) * 3 +
         static_cast<size_t>(header.word_bytes);
}

// The least length of each class: quantiles of `lengths`.
std::vector<uint32_t> length_classes(std::vector<uint32_t> lengths) {
  std::sort(lengths.begin(), lengths.end());
  std::vector<uint32_t> least(kLengthClasses);
  for (size_t i = 0; i < least.size() && !lengths.empty(); ++i) {
    least[i] = lengths[i * lengths.size() / least.size()];
  }
  return least;
}

}  // namespace

std::vector<std::pair<std::string, uint32_t>> count_words(std::string_view text,
                                                          const std::string& language) {
  std::vector<std::string> words = split_words(text, language);
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
  const std::vector<uint32_t> least_lengths = length_classes(lengths_);
  std::vector<uint8_t> classes;  // of the rows' lengths
  for (const uint32_t length : lengths_) {
    const auto after = std::upper_bound(least_lengths.begin() + 1, least_lengths.end(), length);
    classes.push_back(static_cast<uint8_t>(after - least_lengths.begin() - 1));
  }
  std::vector<uint32_t> word_starts = {0}, posting_starts = {0}, frequent;
  std::vector<uint16_t> rows_of;
  std::vector<uint8_t> codes;
  std::string words;
  for (const auto& [word, number] : sorted) {
    const Postings& postings = postings_[static_cast<size_t>(number)];
    const char* at = postings.bytes.data();
    uint32_t row = 0;
    for (uint32_t left = postings.rows; left > 0; --left) {
      row += read_number(at);
      const uint32_t count = read_number(at);
      if (count >= kCountClasses) {
        frequent.push_back(static_cast<uint32_t>(codes.size()));
        frequent.push_back(count);
      }
      const uint32_t count_class = std::min<uint32_t>(count, kCountClasses) - 1;
      rows_of.push_back(static_cast<uint16_t>(row));
      codes.push_back(static_cast<uint8_t>(count_class * kLengthClasses + classes[row]));
    }
    words += word;
    word_starts.push_back(static_cast<uint32_t>(words.size()));
    posting_starts.push_back(static_cast<uint32_t>(codes.size()));
  }
  SIMILE_CHECK(rows() <= kMostWordRows && std::max(words.size(), codes.size()) <= UINT32_MAX,
               ErrorKind::kInput,
               "'{}': {} documents with {} different words each on average; one segment holds at "
               "most 65,536 documents and 4,294,967,295 of their words; add fewer or shorter "
               "documents at a time",
               path, rows(), codes.size() / lengths_.size());
  std::string contents;
  append_all(contents, word_starts);
  append_all(contents, posting_starts);
  append_all(contents, lengths_);
  append_all(contents, least_lengths);
  append_all(contents, frequent);
  append_all(contents, rows_of);
  append_all(contents, codes);
  contents += words;

  WordHeader header;
  header.rows = rows();
  header.words = static_cast<int64_t>(sorted.size());
  header.word_bytes = static_cast<int64_t>(words.size());
  header.postings = static_cast<int64_t>(codes.size());
  header.frequent = static_cast<uint32_t>(frequent.size() / 2);
  set_field(header.segment, segment_checksum);
  set_field(header.contents, hash_bytes(contents));
  set_field(header.checksum, header_checksum(header));
  AtomicFile file(path);
  file.write(bytes_of(&header, 1));
  file.write(contents);
  file.commit();
}

WordFile::WordFile(std::shared_ptr<const MappedFile> file, const std::string& path,
                   const std::string& segment_checksum, int64_t rows)
    : file_(std::move(file)), rows_(rows) {
  const std::string_view bytes = file_->bytes();
  const auto header = read_header<WordHeader>(bytes, path);
  check_file(header.version == WordHeader().version, path, "its layout is another");
  check_file(field_text(header.segment) == segment_checksum && header.rows == rows, path,
             "it belongs to another segment");
  check_file(bytes.size() == sizeof header + content_bytes(header) &&
                 field_text(header.contents) == hash_bytes(bytes.substr(sizeof header)),
             path, "checksum mismatch in its words");
  words_ = header.words;
  frequent_postings_ = header.frequent;
  word_starts_ = reinterpret_cast<const uint32_t*>(bytes.data() + sizeof header);
  posting_starts_ = word_starts_ + words_ + 1;
  lengths_ = posting_starts_ + words_ + 1;
  least_lengths_ = lengths_ + rows;
  frequent_ = reinterpret_cast<const Frequent*>(least_lengths_ + kLengthClasses);
  posting_rows_ = reinterpret_cast<const uint16_t*>(frequent_ + frequent_postings_);
  codes_ = reinterpret_cast<const uint8_t*>(posting_rows_ + header.postings);
  text_ = reinterpret_cast<const char*>(codes_ + header.postings);
  total_length_ = std::accumulate(lengths_, lengths_ + rows, int64_t{0});
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

uint32_t WordFile::frequent_count(const uint8_t* code) const {
  const Frequent* const end = frequent_ + frequent_postings_;
  const auto is_before = [](const Frequent& each, int64_t posting) {
    return each.posting < posting;
  };
  return std::lower_bound(frequent_, end, code - codes_, is_before)->count;
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
