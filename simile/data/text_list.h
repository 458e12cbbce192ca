// SPDX-License-Identifier: Apache-2.0
// Lists of texts to encode: one text a line, or .jsonl with `text` and optionally `pair`; plain,
// .gz or .zst.
//
// A blank line is an empty text, so that results stay in step with lines (skip_blank_lines drops
// it); in .jsonl blank lines are always skipped. Errors, and malformed objects: those of
// simile/data/reader.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "simile/data/line_reader.h"
#include "simile/data/reader.h"

namespace simile {

struct TextItem {
  std::string text;
  std::string pair;  // the second text of a pair, where has_pair
  bool has_pair = false;
  int64_t line = 0;  // from 1
  size_t file = 0;   // which of the files it is in
};

struct TextListOptions {
  bool skip_blank_lines = false;
  int64_t limit = 0;            // texts to read; 0 reads all
  bool skip_malformed = false;  // objects that cannot be read are left out and counted
};

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
  void read_object(const std::string& line, TextItem& item);

  std::vector<std::string> paths_;
  TextListOptions options_;
  size_t number_ = 0;
  bool jsonl_ = false;
  std::optional<LineReader> lines_;
  int64_t replaced_bytes_ = 0;  // in the files before
  ReadReport report_;
};

// All texts at once; `report`, when given, receives what was met.
std::vector<std::string> read_texts(const std::string& path, TextListOptions options = {},
                                    ReadReport* report = nullptr);

}  // namespace simile
