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
#include <memory>
#include <string>
#include <vector>

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
  TextListReader(TextListReader&&) noexcept;
  ~TextListReader();

  bool next(TextItem& item);  // false at the end
  const ReadReport& report() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// All texts at once; `report`, when given, receives what was met.
std::vector<std::string> read_texts(const std::string& path, TextListOptions options = {},
                                    ReadReport* report = nullptr);

}  // namespace simile
