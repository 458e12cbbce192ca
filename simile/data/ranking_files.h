// SPDX-License-Identifier: Apache-2.0
// Files of a retrieval set: texts with ids, judgements of documents (qrels), and rankings (runs).
// Errors are ErrorKind::kInput and name file and line; those of texts also simile/data/reader.h's.
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

// Names of columns that a user chose; empty ones are found by their usual names.
struct CorpusColumns {
  std::string id, text, title;
  std::vector<std::string> metadata = {};  // "*": all others
  TableOptions table = {};

  void visit_names(OptionVisitor& v);  // id, text and title
  void visit(OptionVisitor& v);
};

// The documents of a corpus or a set of queries, row by row from a table (.tsv, .csv, .jsonl) with
// columns `id` (or `_id`) and `text`; a `title` is put before the text with a space between, as
// BEIR does. Memory: the ids read so far.
//
// Metadata are one JSON object of the columns named. A .jsonl gives texts, numbers and truth values
// as written; a .tsv or .csv gives a number where JSON would read the field as one, otherwise a
// text, and no empty fields. Errors: an empty id, an id that occurs twice (with both lines).
class CorpusReader {
 public:
  enum class Titles { kIgnore, kPrepend, kNoTexts };  // the last reads ids and metadata

  CorpusReader(const std::string& path, Titles titles, const CorpusColumns& columns = {});
  // Several files; with on_error: skip, texts with an empty or repeated id are left out.
  CorpusReader(const std::vector<std::string>& paths, Titles titles,
               const CorpusColumns& columns = {});

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
// Judgements and runs in the formats of trec_eval and BEIR, which may be gzip or zstd:
//
//   qrels, .tsv with header  query_id doc_id relevance, or BEIR's query-id corpus-id score
//   qrels, TREC              query iteration document relevance, separated by white space; there
//                            is no header
//   run, TREC                query Q0 document rank score tag; the rank is ignored when read
//
// Errors: a wrong number of fields, a relevance that is not a whole number, a score that is not a
// finite number, a document judged twice differently, or twice in one ranking.
struct Judgement {
  std::string query, document;
  int64_t relevance = 0;
  int64_t line = 0;  // in its file
};

// In file order; repeated equal judgements are kept once. White space separates the fields; below a
// header with tabs, tabs alone do. `encoding`: as LineReader's.
std::vector<Judgement> read_qrels(const std::string& path, ReadReport* report = nullptr,
                                  const std::string& encoding = "");

struct RunQuery {
  std::string query;
  std::vector<std::string> documents;
  std::vector<double> scores;  // one per document
};

// Queries in order of appearance, documents in file order.
std::vector<RunQuery> read_run(const std::string& path);

// An id that is empty or holds white space cannot be written: ErrorKind::kInput. `path` is the run.
void check_run_id(const std::string& id, const std::string& path);

// One query's lines of a run, ranks from 1. `name` is the file's in messages; else as write_run().
std::string run_lines(const RunQuery& query, const std::string& tag, const std::string& name);

// Writes documents in the order given with ranks from 1, after check_run_id() of each id. `tag`
// names the system.
void write_run(const std::string& path, const std::vector<RunQuery>& run, const std::string& tag);

}  // namespace simile
