// SPDX-License-Identifier: Apache-2.0
#include "simile/data/detail/ranking_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/data/line_reader.h"
#include "simile/data/path_list.h"

namespace simile {
namespace {

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

std::string find_texts(const std::string& folder, const std::string& name) {
  const std::string path = find_table(folder, {name}, {".jsonl", ".tsv", ".csv"});
  SIMILE_CHECK(!path.empty(), ErrorKind::kInput,
               fmt::format("{}: the folder has no {}.jsonl (nor .tsv or .csv, .gz or .zst); a BEIR "
                           "folder holds corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv",
                           folder, name));
  return path;
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
  throw Error(
      ErrorKind::kInput,
      fmt::format("{}: the folder has no judgements qrels/{}.tsv for the split '{}'; {}", folder,
                  split, split,
                  splits.empty() ? "it has none of any split"
                                 : fmt::format("its splits are {}", fmt::join(splits, ", "))));
}

}  // namespace

RankingFiles find_ranking_files(const RankingDataOptions& options) {
  RankingFiles files{{options.queries}, {options.corpus}, options.qrels};
  if (!options.folder.empty()) {
    SIMILE_CHECK(folder_exists(options.folder), ErrorKind::kInput,
                 fmt::format("{}: there is no such folder", options.folder));
    if (options.queries.empty()) files.queries = {find_texts(options.folder, "queries")};
    if (options.corpus.empty()) files.corpus = {find_texts(options.folder, "corpus")};
    if (options.qrels.empty()) files.qrels = find_qrels(options.folder, options.split);
  }
  const std::pair<const char*, const std::string*> paths[] = {
      {"queries", &files.queries[0]}, {"corpus", &files.corpus[0]}, {"qrels", &files.qrels}};
  for (const auto& path : paths) {
    SIMILE_CHECK(
        !path.second->empty(), ErrorKind::kRecipe,
        fmt::format("a ranking needs the files queries, corpus and qrels, or a folder with "
                    "them; '{}' is missing",
                    path.first));
  }
  files.queries = expand_paths(files.queries);
  files.corpus = expand_paths(files.corpus);
  return files;
}

}  // namespace simile
