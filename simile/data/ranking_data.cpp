// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_data.h"

#include <fmt/format.h>

#include <utility>

#include "simile/core/error.h"
#include "simile/data/corpus.h"
#include "simile/data/trec.h"

namespace simile {
namespace {

// Reads all texts; the reader then knows the row of each id.
CorpusReader read_all(const std::string& path, CorpusReader::Titles titles,
                      std::vector<std::string>& ids, std::vector<std::string>& texts,
                      ReadReport& report) {
  CorpusReader reader(path, titles);
  for (CorpusText text; reader.next(text);) {
    ids.push_back(std::move(text.id));
    texts.push_back(std::move(text.text));
  }
  report = reader.report();
  return reader;
}

void check_known(bool known, bool allow_unknown, const std::string& qrels,
                 const Judgement& judgement, const std::string& id, const char* what,
                 const std::string& file) {
  SIMILE_CHECK(
      known || allow_unknown, ErrorKind::kInput,
      fmt::format("{}:{}: the {} '{}' is not in {}; correct the files, or set allow_unknown "
                  "if they are a part of a larger set",
                  qrels, judgement.line, what, id, file));
}

// Takes the judgements from queries before the first `skip` judged ones and after the next `limit`.
void keep_queries(RankingData& data, int64_t skip, int64_t limit) {
  int64_t judged_queries = 0;
  for (auto& judged : data.judged) {
    if (judged.empty()) continue;
    const int64_t place = judged_queries++ - skip;
    if (place < 0 || (limit > 0 && place >= limit)) judged.clear();
  }
}

}  // namespace

RankingData read_ranking_data(const RankingDataOptions& options) {
  const std::pair<const char*, const std::string*> paths[] = {
      {"queries", &options.queries}, {"corpus", &options.corpus}, {"qrels", &options.qrels}};
  for (const auto& path : paths) {
    SIMILE_CHECK(!path.second->empty(), ErrorKind::kRecipe,
                 fmt::format("a ranking needs the files queries, corpus and qrels; '{}' is missing",
                             path.first));
  }
  RankingData data;
  data.reports.resize(3);
  const CorpusReader queries = read_all(options.queries, CorpusReader::Titles::kIgnore,
                                        data.query_ids, data.query_texts, data.reports[0]);
  const CorpusReader documents = read_all(options.corpus, CorpusReader::Titles::kPrepend,
                                          data.document_ids, data.document_texts, data.reports[1]);
  data.judged.resize(data.query_ids.size());
  for (const Judgement& judgement : read_qrels(options.qrels, &data.reports[2])) {
    const int64_t query = queries.find(judgement.query);
    const int64_t document = documents.find(judgement.document);
    check_known(query >= 0, options.allow_unknown, options.qrels, judgement, judgement.query,
                "query", options.queries);
    check_known(document >= 0, options.allow_unknown, options.qrels, judgement, judgement.document,
                "document", options.corpus);
    if (query < 0) {
      ++data.judgements_of_unknown_queries;
      continue;
    }
    if (document < 0) ++data.judgements_of_unknown_documents;
    data.judged[static_cast<size_t>(query)].push_back({document, judgement.relevance});
  }
  keep_queries(data, options.skip_queries, options.limit_queries);
  return data;
}

PairDataset pairs_from_ranking(const RankingData& data, int64_t minimum_relevance) {
  PairDataset pairs;
  for (size_t q = 0; q < data.judged.size(); ++q) {
    for (const JudgedDocument& judged : data.judged[q]) {
      if (judged.document < 0 || judged.relevance < minimum_relevance) continue;
      pairs.left.push_back(data.query_texts[q]);
      pairs.right.push_back(data.document_texts[static_cast<size_t>(judged.document)]);
      pairs.score.push_back(1);
      pairs.group.push_back(data.query_ids[q]);
    }
  }
  pairs.report.rows = pairs.size();
  return pairs;
}

}  // namespace simile
