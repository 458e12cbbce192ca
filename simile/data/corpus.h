// SPDX-License-Identifier: Apache-2.0
// Texts with ids: the documents of a corpus or a set of queries, read row by row from a table
// (.tsv, .csv, .jsonl) with columns `id` (or `_id`) and `text`; a `title` is put before the text
// with a space between, as BEIR does. Memory: the ids read so far.
//
// Errors (ErrorKind::kInput, with file and line): an empty id, an id that stands twice (with both
// lines), and what simile/data/reader.h reports.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/reader.h"

namespace simile {

struct CorpusText {
  std::string id, text;
};

// Names of columns that a user chose; those that are empty are found by their usual names.
struct CorpusColumns {
  std::string id, text, title;

  void visit(OptionVisitor& v);
};

class CorpusReader {
 public:
  enum class Titles { kIgnore, kPrepend };

  CorpusReader(const std::string& path, Titles titles);
  CorpusReader(const std::string& path, Titles titles, const CorpusColumns& columns);
  // Several files, one after the other; with skip_malformed, texts whose id is empty or stands
  // there already are left out too.
  CorpusReader(const std::vector<std::string>& paths, Titles titles, ReadOptions options = {});

  // False at the end.
  bool next(CorpusText& text);

  // Which of the texts read so far has this id, from 0; -1 when none has.
  int64_t find(const std::string& id) const;

  const ReadReport& report() const { return reader_.report(); }

 private:
  struct Place {
    int64_t position, line;
    size_t file;
  };
  void check_id(const Row& row);

  std::vector<std::string> paths_;
  TableReader reader_;
  bool with_titles_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace simile
