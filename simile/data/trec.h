// SPDX-License-Identifier: Apache-2.0
// Relevance judgements (qrels) and runs in the formats of trec_eval and BEIR.
//
//   qrels, .tsv with header  query_id doc_id relevance, or BEIR's query-id corpus-id score
//   qrels, TREC              query iteration document relevance, separated by white space; there
//                            is no header
//   run, TREC                query Q0 document rank score tag; the rank is ignored when read
//
// Files may be gzip or zstd. Errors (ErrorKind::kInput) name file and line: a wrong number of
// fields, a relevance that is not a whole number, a score that is not a finite number, a pair of
// query and document judged twice with different relevance, a document twice in one ranking.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/reader.h"

namespace simile {

struct Judgement {
  std::string query, document;
  int64_t relevance = 0;
  int64_t line = 0;  // in its file
};

// In file order; repeated equal judgements are kept once.
std::vector<Judgement> read_qrels(const std::string& path, ReadReport* report = nullptr);

struct RunQuery {
  std::string query;
  std::vector<std::string> documents;
  std::vector<double> scores;  // one per document
};

// Queries in order of appearance, documents in file order.
std::vector<RunQuery> read_run(const std::string& path, ReadReport* report = nullptr);

// One query's lines of a run, ranks from 1. `name` is the file's in messages; else as write_run().
std::string run_lines(const RunQuery& query, const std::string& tag, const std::string& name);

// Writes documents in the order given with ranks from 1. An id that is empty or holds white space
// cannot be written: ErrorKind::kInput. `tag` names the system.
void write_run(const std::string& path, const std::vector<RunQuery>& run, const std::string& tag);

}  // namespace simile
