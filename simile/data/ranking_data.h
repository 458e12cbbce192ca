// SPDX-License-Identifier: Apache-2.0
// A retrieval set: queries, a corpus of documents, and judgements of which documents answer a
// query.
//
// Queries and corpus: simile/data/corpus.h (titles only in the corpus). Judgements:
// simile/data/trec.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/pair_dataset.h"
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
  std::vector<ReadReport> reports;              // queries, corpus, qrels
};

struct RankingDataOptions {
  std::string queries, corpus, qrels;
  bool allow_unknown = false;
  int64_t skip_queries = 0;
  int64_t limit_queries = 0;

  void visit(OptionVisitor& v) {
    v.field("queries", queries, path_info("table of queries with columns id and text"));
    v.field("corpus", corpus,
            path_info("table of documents with columns id, text and optionally title"));
    v.field("qrels", qrels,
            path_info("judgements: .tsv with header query_id doc_id relevance, or TREC qrels"));
    v.field("allow_unknown", allow_unknown,
            {"accept judgements of queries or documents that are not in the files: the queries are "
             "dropped, the documents count as relevant ones that were not found"});
    v.field(
        "skip_queries", skip_queries,
        {"judged queries to leave out at the beginning, to split one file in two", "queries", 0});
    v.field("limit_queries", limit_queries, {"judged queries to keep; 0 keeps all", "queries", 0});
  }
};

// Errors: ErrorKind::kInput for an id that stands twice (with both lines), an empty id, a judgement
// of an unknown query or document (unless allowed) and what the readers report; ErrorKind::kRecipe
// for an empty path.
RankingData read_ranking_data(const RankingDataOptions& options);

// Training pairs (query text, document text, score 1, group = query id), one for every judgement
// with at least `minimum_relevance`, in the order of queries and judgements.
PairDataset pairs_from_ranking(const RankingData& data, int64_t minimum_relevance = 1);

}  // namespace simile
