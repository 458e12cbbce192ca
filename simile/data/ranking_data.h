// SPDX-License-Identifier: Apache-2.0
// A retrieval set: queries, documents, and judgements which documents answer a query. Either:
//
//   queries, corpus, qrels  three files. Queries and corpus are tables (simile/data/ranking_files.h), with
//                           titles only in the corpus; a * in their names stands for several files.
//                           Judgements: simile/data/ranking_files.h
//   folder, split           a BEIR folder (Thakur et al., NeurIPS 2021): corpus.jsonl (_id, title,
//                           text), queries.jsonl (_id, text) and qrels/SPLIT.tsv with a header. The
//                           tables may also be .tsv or .csv, the judgements qrels.SPLIT.tsv, each
//                           compressed or not. Queries that the split does not judge are not asked.
//                           A file named beside the folder replaces the folder's own
//
// tools/data/ has scripts that make such tables of TREC topics and documents and of SemEval's XML.
//
// Unlike BEIR's own evaluation, a judgement of an unknown query or document is an error unless
// allow_unknown is set; a document with the id of the query is ranked unless the evaluation's
// exclude_self is set (which matters in ArguAna and Quora).
//
// Folds divide the judged queries; queries of one text are a group. Every fold has all documents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/pair_dataset.h"
#include "simile/data/ranking_files.h"
#include "simile/data/reader.h"

namespace simile {

struct JudgedDocument {
  int64_t document = 0;  // row of the corpus; -1 for a document that is not in it
  int64_t relevance = 0;
};

struct RankingData {
  std::vector<std::string> query_ids, query_texts;
  std::vector<std::string> document_ids, document_texts;
  std::vector<std::vector<JudgedDocument>> judged;  // per query, in file order; may be empty

  int64_t judgements_of_unknown_queries = 0;    // dropped
  int64_t judgements_of_unknown_documents = 0;  // kept with document -1
  std::vector<ReadReport> reports;              // queries, corpus, qrels; one of a table of pairs
  std::vector<std::string> notes;               // what was left out, and how, for the user
};

struct RankingDataOptions {
  std::string queries, corpus, qrels;
  std::string folder;
  std::string split = "test";
  bool allow_unknown = false;
  CorpusColumns columns;  // of queries and corpus; the encoding is also that of the judgements
  int64_t skip_queries = 0;
  int64_t limit_queries = 0;
  int64_t limit_documents = 0;
  FoldOptions folds;

  // The file or folder that messages name.
  std::string file() const;

  void visit(OptionVisitor& v) {
    visit_set(v);
    columns.visit_names(v);
    columns.table.visit(v);
    folds.visit(v);
  }
  // Options that no other data has.
  void visit_set(OptionVisitor& v) {
    v.field("queries", queries,
            path_info("table of queries with columns id and text; * in its name: several files"));
    v.field("corpus", corpus,
            path_info("table of documents with columns id, text and optionally title; a * in its "
                      "name matches several files"));
    v.field("qrels", qrels,
            path_info("judgements: .tsv with header query_id doc_id relevance, or TREC qrels"));
    v.field("folder", folder,
            path_info("BEIR folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, in place "
                      "of queries, corpus and qrels"));
    v.field("split", split, {"folder: which judgements are read, such as train, dev or test"});
    v.field("allow_unknown", allow_unknown,
            {"accept judgements of queries or documents that are not in the files: the queries are "
             "dropped, the documents count as relevant ones that were not found"});
    v.field(
        "skip_queries", skip_queries,
        {"judged queries to leave out at the beginning, to split one file in two", "queries", 0});
    v.field("limit_queries", limit_queries, {"judged queries to keep; 0 keeps all", "queries", 0});
    v.field("limit_documents", limit_documents,
            {"documents to keep: the first, and those judged for the queries kept; 0 keeps all",
             "documents", 0});
  }
};

// on_error: skip leaves out malformed rows of the tables of queries and documents, which makes
// their judgements those of an unknown query or document.
//
// Errors: ErrorKind::kInput for an id that occurs twice (with both lines), an empty id, a judgement
// of an unknown query or document (unless allowed), and the errors of the readers;
// ErrorKind::kRecipe for a file that is neither named nor looked for in a folder.
RankingData read_ranking_data(const RankingDataOptions& options);

// Whether a folder has queries, a corpus and judgements of the split.
bool has_ranking_split(const std::string& folder, const std::string& split);

// Training pairs (query text, document text, score 1, group = query id), one for every judgement
// with at least `minimum_relevance`, in the order of queries and judgements.
PairDataset pairs_from_ranking(const RankingData& data, int64_t minimum_relevance = 1);

// The other way round: a retrieval set made of pairs, for data without files of rankings.
//
// Queries are the left texts of pairs with a score above 0.5, documents the right texts and
// negatives of all pairs, each distinct text once. Relevant to a query are the right texts of such
// pairs (relevance 1); right texts of its other pairs and its negatives are judged 0. Folds cut the
// pairs as they do for training (pairs of one group, or that share a text, stay together). So the
// queries are those of the part that is read; the documents are those of all parts.
//
// Ids are q1, q2, ... and d1, d2, ... in the order of the rows. Errors: those of read_pairs();
// ErrorKind::kInput for single texts. Without a positive pair a query has no relevant document.
struct PairDataOptions;
RankingData ranking_from_pairs(const PairDataOptions& options);

}  // namespace simile
