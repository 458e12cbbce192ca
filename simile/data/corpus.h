// SPDX-License-Identifier: Apache-2.0
// Texts with ids: the documents of a corpus or a set of queries, read row by row from a table
// (.tsv, .csv, .jsonl) with columns `id` (or `_id`) and `text`; a `title` is put before the text
// with a space between, as BEIR does. Memory: the ids read so far.
//
// Metadata are one JSON object of the columns named. A .jsonl gives texts, numbers and truth values
// as written; a .tsv or .csv gives a number where JSON would read the field as one, otherwise a
// text, and no empty fields.
//
// Errors (ErrorKind::kInput, with file and line): an empty id, an id that occurs twice (with both
// lines), and what simile/data/reader.h reports.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/reader.h"

namespace simile {

struct CorpusText {
  std::string id, text;
  std::string metadata = {};  // JSON; empty where no column was asked for or the row has none
  std::string title = {};     // that `text` begins with, where titles are put before it
};

// Names of columns that a user chose; those that are empty are found by their usual names.
struct CorpusColumns {
  std::string id, text, title;
  std::vector<std::string> metadata = {};  // "*": all others

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
  void check_metadata() const;
  std::string metadata_of(Row& row);

  std::vector<std::string> paths_;
  TableReader reader_;
  bool with_titles_;
  std::set<std::string> missing_metadata_;  // columns that no row had so far
  std::unordered_map<std::string, Place> places_;
};

}  // namespace simile
