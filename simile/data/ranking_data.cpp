// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_data.h"

#include <fmt/format.h>

#include <unordered_map>

#include "simile/core/error.h"
#include "simile/data/trec.h"

namespace simile {
namespace {

struct IdAndLine {
  int64_t row;
  int64_t line;
};
using IdMap = std::unordered_map<std::string, IdAndLine>;

std::string trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\n") + 1 - begin);
}

// Reads id and text (and title) of every row; returns where each id stands.
IdMap read_texts_with_ids(const std::string& path, bool titles, std::vector<std::string>& ids,
                          std::vector<std::string>& texts, ReadReport& report) {
  std::vector<Column> columns = {{"id", {"id", "_id"}}, {"text", {"text"}}};
  if (titles) columns.push_back({"title", {"title"}, false});
  TableReader reader(path, columns);
  IdMap map;
  for (Row row; reader.next(row);) {
    if (row.fields[0].empty()) reader.fail(row, 0, "expected an id, found nothing");
    const auto added =
        map.emplace(row.fields[0], IdAndLine{static_cast<int64_t>(ids.size()), row.line});
    if (!added.second) {
      reader.fail(row, 0,
                  fmt::format("the id '{}' already stands in line {}", row.fields[0],
                              added.first->second.line));
    }
    const bool titled = titles && !row.fields[2].empty();
    texts.push_back(titled ? trim(row.fields[2] + " " + row.fields[1]) : std::move(row.fields[1]));
    ids.push_back(std::move(row.fields[0]));
  }
  report = reader.report();
  return map;
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
  const IdMap queries = read_texts_with_ids(options.queries, false, data.query_ids,
                                            data.query_texts, data.reports[0]);
  const IdMap documents = read_texts_with_ids(options.corpus, true, data.document_ids,
                                              data.document_texts, data.reports[1]);
  data.judged.resize(data.query_ids.size());
  for (const Judgement& judgement : read_qrels(options.qrels, &data.reports[2])) {
    const auto query = queries.find(judgement.query);
    const auto document = documents.find(judgement.document);
    check_known(query != queries.end(), options.allow_unknown, options.qrels, judgement,
                judgement.query, "query", options.queries);
    check_known(document != documents.end(), options.allow_unknown, options.qrels, judgement,
                judgement.document, "document", options.corpus);
    if (query == queries.end()) {
      ++data.judgements_of_unknown_queries;
      continue;
    }
    const bool known = document != documents.end();
    if (!known) ++data.judgements_of_unknown_documents;
    data.judged[static_cast<size_t>(query->second.row)].push_back(
        {known ? document->second.row : -1, judgement.relevance});
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
