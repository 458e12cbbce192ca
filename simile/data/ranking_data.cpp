// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/idle_options.h"
#include "simile/data/corpus.h"
#include "simile/data/detail/ranking_files.h"
#include "simile/data/trec.h"
#include "simile/text/words.h"

namespace simile {
namespace {

using Places = std::unordered_map<std::string, int64_t>;

// Texts with their ids, and the place of each id.
struct Texts {
  std::vector<std::string>& ids;
  std::vector<std::string>& texts;
  Places places;

  void add(CorpusText text) {
    places.emplace(text.id, static_cast<int64_t>(ids.size()));
    ids.push_back(std::move(text.id));
    texts.push_back(std::move(text.text));
  }
  int64_t find(const std::string& id) const {
    const auto found = places.find(id);
    return found == places.end() ? -1 : found->second;
  }
};

ReadReport read_table(const std::vector<std::string>& paths, CorpusReader::Titles titles,
                      bool skip_malformed, Texts& texts) {
  ReadOptions options;
  options.skip_malformed = skip_malformed;
  CorpusReader reader(paths, titles, options);
  for (CorpusText text; reader.next(text);) texts.add(std::move(text));
  return reader.report();
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

// Takes the judgements from queries that are not in the part.
void keep_fold(const RankingDataOptions& options, RankingData& data) {
  if (!options.folds.is_set()) return;
  std::vector<size_t> judged;
  std::vector<std::string> groups;
  for (size_t q = 0; q < data.judged.size(); ++q) {
    if (data.judged[q].empty()) continue;
    judged.push_back(q);
    groups.push_back(comparison_key(data.query_texts[q]));
  }
  const FoldPart part = choose_part(options.folds, groups, options.file(), "queries");
  for (size_t i = 0; i < judged.size(); ++i) {
    if (part.is_kept[i] == 0) data.judged[judged[i]].clear();
  }
  data.notes.push_back(part.note);
}

// Leaves out documents beyond the first `limit` that no query kept has a judgement of.
void keep_documents(RankingData& data, int64_t limit) {
  const auto count = static_cast<int64_t>(data.document_ids.size());
  if (limit == 0 || count <= limit) return;
  std::vector<char> is_kept(data.document_ids.size());
  std::fill_n(is_kept.begin(), limit, 1);
  for (const auto& judged : data.judged) {
    for (const JudgedDocument& one : judged) {
      if (one.document >= 0) is_kept[static_cast<size_t>(one.document)] = 1;
    }
  }
  std::vector<int64_t> places(data.document_ids.size(), -1);
  size_t kept = 0;
  for (size_t d = 0; d < is_kept.size(); ++d) {
    if (is_kept[d] == 0) continue;
    places[d] = static_cast<int64_t>(kept);
    if (kept < d) {
      data.document_ids[kept] = std::move(data.document_ids[d]);
      data.document_texts[kept] = std::move(data.document_texts[d]);
    }
    ++kept;
  }
  data.document_ids.resize(kept);
  data.document_texts.resize(kept);
  for (auto& judged : data.judged) {
    for (JudgedDocument& one : judged) {
      if (one.document >= 0) one.document = places[static_cast<size_t>(one.document)];
    }
  }
  data.notes.push_back(fmt::format("{} of {} documents were kept (limit_documents)", kept, count));
}

RankingData read_files(const RankingDataOptions& options) {
  const RankingFiles files = find_ranking_files(options);
  RankingData data;
  data.reports.resize(3);
  Texts queries{data.query_ids, data.query_texts, {}};
  Texts documents{data.document_ids, data.document_texts, {}};
  const bool skip = options.on_error == "skip";
  data.reports[0] = read_table(files.queries, CorpusReader::Titles::kIgnore, skip, queries);
  data.reports[1] = read_table(files.corpus, CorpusReader::Titles::kPrepend, skip, documents);
  data.judged.resize(data.query_ids.size());
  for (const Judgement& judgement : read_qrels(files.qrels, &data.reports[2])) {
    const int64_t query = queries.find(judgement.query);
    const int64_t document = documents.find(judgement.document);
    check_known(query >= 0, options.allow_unknown, files.qrels, judgement, judgement.query, "query",
                data.reports[0].file);
    check_known(document >= 0, options.allow_unknown, files.qrels, judgement, judgement.document,
                "document", data.reports[1].file);
    if (query < 0) {
      ++data.judgements_of_unknown_queries;
      continue;
    }
    if (document < 0) ++data.judgements_of_unknown_documents;
    data.judged[static_cast<size_t>(query)].push_back({document, judgement.relevance});
  }
  return data;
}

}  // namespace

std::string RankingDataOptions::file() const {
  return qrels.empty() && !folder.empty() ? folder : qrels;
}

RankingData read_ranking_data(const RankingDataOptions& options) {
  check_on_error(options.on_error);
  refuse_idle_options(
      "a ranking: ",
      find_idle_options(options, {{options.folder.empty() || !options.qrels.empty(),
                                   {"split"},
                                   options.folder.empty() ? "without `folder`" : "beside `qrels`"},
                                  {!options.folds.is_set(), {"fold_seed"}, "without `folds`"}}));
  RankingData data = read_files(options);
  keep_queries(data, options.skip_queries, options.limit_queries);
  keep_fold(options, data);
  keep_documents(data, options.limit_documents);
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
