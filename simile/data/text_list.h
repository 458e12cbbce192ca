// SPDX-License-Identifier: Apache-2.0
// Files of texts: lists of them, the texts of any table, and texts of files too large for memory.
// Errors, and malformed objects: those of simile/data/reader.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/random.h"
#include "simile/data/line_reader.h"
#include "simile/data/reader.h"

namespace simile {

struct TextItem {
  std::string text;
  std::string pair;   // the second text of a pair, where has_pair
  std::string title;  // of a .jsonl; empty where it has none
  bool has_pair = false;
  int64_t line = 0;  // from 1
  size_t file = 0;   // which of the files it is in
};

struct TextListOptions {
  bool skip_blank_lines = false;
  int64_t limit = 0;        // texts to read; 0 reads all
  TableOptions table = {};  // without its delimiter
};

// Texts to encode: one a line, or .jsonl with `text` and optionally `pair` (a text) and `title` (a
// text or number; what else is there is no title); plain, .gz or .zst. A
// blank line is an empty text, so that results stay in step with lines (skip_blank_lines drops it);
// in .jsonl blank lines are always skipped. Errors (kInput), besides those of the lines: a first
// line that is JSON in a file that is not a .jsonl.
class TextListReader {
 public:
  explicit TextListReader(const std::string& path, TextListOptions options = {});
  // Several files, one after the other; at least one.
  explicit TextListReader(std::vector<std::string> paths, TextListOptions options = {});
  // One text a line, or objects when `jsonl`. `stream` must outlive the reader.
  TextListReader(std::istream& stream, const std::string& name, bool jsonl,
                 TextListOptions options = {});

  bool next(TextItem& item);  // false at the end
  const ReadReport& report() const { return report_; }

 private:
  void open(size_t number);
  bool next_line(std::string& line);
  bool read(std::string& line, TextItem& item);

  std::vector<std::string> paths_;
  TextListOptions options_;
  size_t number_ = 0;
  bool jsonl_ = false;
  std::optional<LineReader> lines_;
  int64_t replaced_bytes_ = 0;  // in the files before
  ReadReport report_;
};

// Warns of a list of texts that looks like a table, whose header and ids would count as texts.
// `done` is what is done with its lines, `advice` what to do instead. Only a regular file is looked
// at, because a pipe can be read only once.
void warn_about_table(const std::string& path, EventSink& events, const TableOptions& table = {},
                      const std::string& done = "read",
                      const std::string& advice = "give a file with the texts alone");

// All texts at once; `report`, if given, receives counts and problems.
std::vector<std::string> read_texts(const std::string& path, TextListOptions options = {},
                                    ReadReport* report = nullptr);

// Reads the texts of any file row by row, whatever its columns are called. A file whose name ends
// in .tsv, .csv or .jsonl (also with .gz or .zst) is a table: it gives the fields of all columns
// (of a .jsonl those that are texts), or of those in `columns`, in their order. Any other file is a
// list of texts, one a line. Errors: ErrorKind::kInput for a table with none of `columns`, and the
// errors of the readers.
class FieldReader {
 public:
  FieldReader(const std::string& path, const std::vector<std::string>& columns,
              const TableOptions& table = {});

  // The texts of the next row in `fields`, and its line (from 1). False at the end.
  bool next(std::vector<std::string>& fields, int64_t& line);

  const ReadReport& report() const { return list_ ? list_->report() : table_->report(); }

 private:
  std::optional<TextListReader> list_;  // one of the two
  std::optional<TableReader> table_;
  std::vector<std::string> members_;  // wanted in a .jsonl; empty: all texts
};

// A corpus of which only the texts are needed: the column `text` of a table, or that
// named, after `title` and a space where it has one, or each line of any other file. Blank texts
// are left out; rows of a table without any text, and bytes that are not UTF-8, are counted and
// reported to `events`. Errors (ErrorKind::kInput): no such column, no text at all, and the errors
// of the readers.
std::vector<std::string> read_candidate_texts(const std::string& path, EventSink& events,
                                              const TableOptions& table = {},
                                              const std::string& column = "");

// Contents of a corpus file, read from end to end.
struct CorpusFile {
  std::string path;
  int64_t texts = 0;  // not blank
  int64_t bytes = 0;  // of those texts
};

// Reads every file (simile/data/line_reader.h) to its end, so that a damaged one is found before
// long work begins. Warns of one that looks like a table. Errors (ErrorKind::kInput): no file at
// all, one that cannot be read, or not twice (a pipe), or has no text, and one that is not text:
// more than 1 % of its bytes are not UTF-8.
std::vector<CorpusFile> inspect_corpus(const std::vector<std::string>& paths, EventSink& events);

// Texts of files too large for memory, mixed and shuffled as they are read. The files are read at
// once, at paces that make all end together, and pass through a buffer from which a random text is
// drawn. The order is a pure function of (files, seed, epoch). Blank lines are skipped.
class TextStream {
 public:
  // `buffer`: texts to draw from, at least 1 (1 keeps the order of each file).
  TextStream(const std::vector<CorpusFile>& files, int64_t buffer, uint64_t seed, uint64_t epoch);

  // False at the end of the epoch. Errors: as TextListReader.
  bool next(std::string& text);

 private:
  struct Source {
    TextListReader reader;
    int64_t texts, read;
  };
  bool read_next(std::string& text);  // in the files' order

  std::vector<Source> sources_;
  size_t capacity_;
  std::vector<std::string> buffer_;
  RandomStream random_;
};

}  // namespace simile
