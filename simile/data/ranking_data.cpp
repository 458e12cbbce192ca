// SPDX-License-Identifier: Apache-2.0
#include "simile/data/ranking_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/core/unused_options.h"
#include "simile/data/line_reader.h"
#include "simile/data/pair_data.h"
#include "simile/text/words.h"

namespace simile {
namespace {

struct RankingFiles {
  std::vector<std::string> queries, corpus;
  std::string qrels;
};

// The first of `names` that the folder has, with any ending of a table; empty when it has none.
std::string find_table(const std::string& folder, const std::vector<std::string>& names,
                       const std::vector<std::string>& endings) {
  for (const std::string& name : names) {
    for (const std::string& ending : endings) {
      for (const char* packed : {"", ".gz", ".zst"}) {
        const std::string path = join_path(folder, name + ending + packed);
        if (file_exists(path)) return path;
      }
    }
  }
  return "";
}

// "test" of qrels/test.tsv and qrels.test.tsv.
std::set<std::string> list_splits(const std::string& folder) {
  std::set<std::string> splits;
  std::error_code code;
  const auto add = [&](const std::string& path, const std::string& prefix) {
    for (std::filesystem::directory_iterator it(path, code), end; !code && it != end;
         it.increment(code)) {
      const std::string name = without_compression(it->path().filename().string());
      if (!ends_with(name, ".tsv") || name.compare(0, prefix.size(), prefix) != 0) continue;
      splits.insert(name.substr(prefix.size(), name.size() - prefix.size() - 4));
    }
  };
  add(join_path(folder, "qrels"), "");
  add(folder, "qrels.");
  return splits;
}

std::string find_qrels(const std::string& folder, const std::string& split) {
  const std::string path = find_table(folder, {"qrels/" + split, "qrels." + split}, {".tsv"});
  if (!path.empty()) return path;
  const std::set<std::string> splits = list_splits(folder);
  throw_error(ErrorKind::kInput,
              "{}: the folder has no judgements qrels/{}.tsv for the split '{}'; {}", folder, split,
              split,
              splits.empty() ? "it has none of any split"
                             : fmt::format("its splits are {}", fmt::join(splits, ", ")));
}

// The files of the options, and of the folder where one is given.
RankingFiles find_ranking_files(const RankingDataOptions& options) {
  RankingFiles files{{options.queries}, {options.corpus}, options.qrels};
  if (!options.folder.empty()) {
    SIMILE_CHECK(folder_exists(options.folder), ErrorKind::kInput, "{}: there is no such folder",
                 options.folder);
    for (auto* texts : {&files.queries, &files.corpus}) {
      if (!texts->front().empty()) continue;
      const char* name = texts == &files.queries ? "queries" : "corpus";
      texts->front() = find_table(options.folder, {name}, {".jsonl", ".tsv", ".csv"});
      SIMILE_CHECK(!texts->front().empty(), ErrorKind::kInput,
                   "{}: the folder has no {}.jsonl (nor .tsv or .csv, .gz or .zst); a BEIR folder "
                   "holds corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv",
                   options.folder, name);
    }
    if (options.qrels.empty()) files.qrels = find_qrels(options.folder, options.split);
  }
  const std::pair<const char*, const std::string*> paths[] = {
      {"queries", &files.queries[0]}, {"corpus", &files.corpus[0]}, {"qrels", &files.qrels}};
  for (const auto& path : paths) {
    SIMILE_CHECK(!path.second->empty(), ErrorKind::kRecipe,
                 "a ranking needs the files queries, corpus and qrels, or a folder with them; '{}' "
                 "is missing",
                 path.first);
  }
  files.queries = expand_paths(files.queries);
  files.corpus = expand_paths(files.corpus);
  return files;
}

// Reads texts with their ids; the reader then finds a text by its id.
CorpusReader read_texts(const std::vector<std::string>& paths, CorpusReader::Titles titles,
                        const CorpusColumns& columns, std::vector<std::string>& ids,
                        std::vector<std::string>& texts) {
  CorpusReader reader(paths, titles, columns);
  for (CorpusText text; reader.next(text);) {
    ids.push_back(std::move(text.id));
    texts.push_back(std::move(text.text));
  }
  return reader;
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
  const CorpusReader queries = read_texts(files.queries, CorpusReader::Titles::kIgnore,
                                          options.columns, data.query_ids, data.query_texts);
  const CorpusReader documents =
      read_texts(files.corpus, CorpusReader::Titles::kPrepend, options.columns, data.document_ids,
                 data.document_texts);
  data.reports = {queries.report(), documents.report(), {}};
  data.judged.resize(data.query_ids.size());
  for (const Judgement& judgement :
       read_qrels(files.qrels, &data.reports[2],
                  encoding_beside(files.qrels, options.columns.table.encoding))) {
    const int64_t query = queries.find(judgement.query);
    const int64_t document = documents.find(judgement.document);
    const auto check_known = [&](bool known, const char* what, const std::string& id,
                                 const ReadReport& report) {
      SIMILE_CHECK(known || options.allow_unknown, ErrorKind::kInput,
                   "{}:{}: the {} '{}' is not in {}; correct the files, or set allow_unknown if "
                   "they are a part of a larger set",
                   files.qrels, judgement.line, what, id, report.file);
    };
    check_known(query >= 0, "query", judgement.query, data.reports[0]);
    check_known(document >= 0, "document", judgement.document, data.reports[1]);
    if (query < 0) {
      ++data.judgements_of_unknown_queries;
      continue;
    }
    if (document < 0) ++data.judgements_of_unknown_documents;
    data.judged[static_cast<size_t>(query)].push_back({document, judgement.relevance});
  }
  return data;
}

constexpr double kPositiveAbove = 0.5;

// Distinct texts with ids.
class NumberedTexts {
 public:
  NumberedTexts(const char* prefix, std::vector<std::string>& ids, std::vector<std::string>& texts)
      : prefix_(prefix), ids_(ids), texts_(texts) {}

  int64_t number(const std::string& text) {
    const auto [found, is_new] = numbers_.emplace(text, static_cast<int64_t>(texts_.size()));
    if (is_new) {
      texts_.push_back(text);
      ids_.push_back(fmt::format("{}{}", prefix_, texts_.size()));
    }
    return found->second;
  }

 private:
  const char* prefix_;
  std::vector<std::string>& ids_;
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, int64_t> numbers_;
};

// A document that is judged twice keeps its higher relevance.
void add_judgement(int64_t document, int64_t relevance, std::vector<JudgedDocument>& judged) {
  for (JudgedDocument& known : judged) {
    if (known.document != document) continue;
    known.relevance = std::max(known.relevance, relevance);
    return;
  }
  judged.push_back({document, relevance});
}

}  // namespace

std::string RankingDataOptions::file() const {
  return qrels.empty() && !folder.empty() ? folder : qrels;
}

bool has_ranking_split(const std::string& folder, const std::string& split) {
  const std::vector<std::string> tables = {".jsonl", ".tsv", ".csv"};
  return !find_table(folder, {"queries"}, tables).empty() &&
         !find_table(folder, {"corpus"}, tables).empty() &&
         !find_table(folder, {"qrels/" + split, "qrels." + split}, {".tsv"}).empty();
}

RankingData read_ranking_data(const RankingDataOptions& options) {
  options.columns.table.check();
  refuse_idle_options(
      "a ranking: ",
      find_idle_options(options, {{options.folder.empty() || !options.qrels.empty(),
                                   {"split"},
                                   options.folder.empty() ? "without `folder`" : "beside `qrels`"},
                                  {!options.folds.is_set(), {"fold_seed"}, "without `folds`"}}));
  RankingData data = read_files(options);
  int64_t judged_queries = 0;
  for (auto& judged : data.judged) {
    if (judged.empty()) continue;
    const int64_t place = judged_queries++ - options.skip_queries;
    if (place < 0 || (options.limit_queries > 0 && place >= options.limit_queries)) judged.clear();
  }
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

RankingData ranking_from_pairs(const PairDataOptions& options) {
  PairDataOptions whole = options;
  whole.folds = {};
  const PairDataset pairs = read_pairs(whole);
  SIMILE_CHECK(!pairs.right.empty(), ErrorKind::kInput,
               "{}: a ranking is made of pairs, found single texts; name the column `right`",
               options.file());
  RankingData data;
  data.notes = pairs.notes;
  data.reports = {pairs.report};
  std::vector<char> is_asked(pairs.left.size(), 1);
  if (options.folds.is_set()) {
    FoldPart part = choose_part(options.folds, fold_groups(pairs), options.file(), "pairs");
    is_asked = std::move(part.is_kept);
    data.notes.push_back(part.note);
  }
  NumberedTexts queries("q", data.query_ids, data.query_texts);
  NumberedTexts documents("d", data.document_ids, data.document_texts);
  for (size_t i = 0; i < pairs.left.size(); ++i) {
    const int64_t document = documents.number(pairs.right[i]);
    std::vector<int64_t> negatives;
    for (const auto& column : pairs.negatives) negatives.push_back(documents.number(column[i]));
    if (is_asked[i] == 0) continue;
    const auto query = static_cast<size_t>(queries.number(pairs.left[i]));
    data.judged.resize(data.query_ids.size());
    add_judgement(document, pairs.score[i] > kPositiveAbove ? 1 : 0, data.judged[query]);
    for (const int64_t negative : negatives) add_judgement(negative, 0, data.judged[query]);
  }
  data.notes.push_back(fmt::format("{}: {} queries and {} documents made of {} pairs",
                                   options.file(), data.query_ids.size(), data.document_ids.size(),
                                   pairs.size()));
  return data;
}

}  // namespace simile
