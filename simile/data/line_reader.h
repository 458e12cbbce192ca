// SPDX-License-Identifier: Apache-2.0
// Files of data: which ones a path means, and their lines.
//
// Files are plain, gzip or (with a name that ends in .zst) zstd. A line ends in LF or CRLF, which
// is removed; the last one may lack it. A byte order mark at the start is removed. Bytes that are
// not UTF-8 become U+FFFD and are counted. A file in another encoding is converted if the caller
// names it, and UTF-16 or 32 by its byte order mark. Latin-1 is read as Windows-1252, as browsers
// do.
//
// Errors (ErrorKind::kInput): a file that cannot be read, a damaged or cut gzip or zstd file (with
// how far it was read), a file of a kind that core/file_kind.h knows, bytes that are invalid in the
// named encoding, a first line that shows UTF-16 without a mark or, if it is the only line, lines
// that end in CR alone (with a remedy), a zstd file that needs more memory than a window of 128
// MiB, a line longer than kMaximumLineBytes - so that memory stays bounded whatever the file holds.
// ErrorKind::kInterrupted: a signal while waiting for bytes. Exceptions that a stream throws (where
// its exceptions() say so) pass through.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace simile {

class ByteSource;

constexpr int64_t kMaximumLineBytes = int64_t{64} << 20;

class LineReader {
 public:
  // `encoding`: a name that ICU knows. Errors: ErrorKind::kRecipe for another.
  explicit LineReader(const std::string& path, const std::string& encoding = "");
  // `stream` must outlive the reader; Messages call it `name` ("stdin").
  LineReader(std::istream& stream, const std::string& name, const std::string& encoding = "");
  LineReader(LineReader&&) noexcept;
  ~LineReader();

  // False at the end.
  bool next(std::string& line);

  const std::string& name() const { return name_; }
  int64_t line_number() const { return line_number_; }        // of the line last read, from 1
  int64_t replaced_bytes() const { return replaced_bytes_; }  // so far
  int64_t first_replaced() const { return first_replaced_; }  // line of the first; 0: none
  std::string where() const;                                  // "train.tsv:12"

 private:
  bool fill();
  void convert(const std::string& encoding, const std::string& read);

  std::unique_ptr<ByteSource> source_;
  std::string name_, buffer_;
  size_t begin_ = 0;
  bool is_converted_ = false;
  int64_t line_number_ = 0, replaced_bytes_ = 0, first_replaced_ = 0;
};

// Errors (ErrorKind::kInput): a pipe, of which a second reader would wait for ever.
void check_no_pipe(const std::string& path);

// The encoding to read a file with that stands beside those that `encoding` was named for: none
// where it is UTF-8 throughout or shows its own, as texts read with another would match nothing.
std::string encoding_beside(const std::string& path, const std::string& encoding);

// Lines of a file, for progress; in a .csv those that end a row, outside of quotes. 0 for a file
// that is compressed, or is no regular file.
int64_t count_rows(const std::string& path);

// The name without .gz or .zst, which say how the file is compressed.
std::string without_compression(const std::string& path);
// Whether the name ends in .jsonl; in .jsonl, .tsv or .csv (compressed or not).
bool is_json_lines(const std::string& path);
bool is_table(const std::string& path);

// The files meant by `paths`, in that order. A path whose last part has a `*`, for any number of
// characters, becomes every matching file of its folder, sorted by name byte for byte (part-10
// before part-2); hidden files only match a pattern that begins with a dot. A file that has such a
// name itself is meant by it. A path without `*` is taken as it is, there or not.
//
// Errors: ErrorKind::kInput for a pattern that no file fits; ErrorKind::kRecipe for `*` before the
// last part and for a file named twice.
std::vector<std::string> expand_paths(const std::vector<std::string>& paths);

// "a.tsv", "a.tsv and 3 more files": for messages.
std::string name_paths(const std::vector<std::string>& paths);

}  // namespace simile
