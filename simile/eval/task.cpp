// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "simile/core/error.h"
#include "simile/core/owned_options.h"
#include "simile/data/path_list.h"
#include "simile/eval/classification_task.h"
#include "simile/eval/pair_task.h"
#include "simile/eval/ranking_task.h"
#include "simile/eval/sts_task.h"

namespace simile {
namespace {

void check_empty(const std::string& task, const char* name, const std::string& value,
                 const char* takes) {
  SIMILE_CHECK(value.empty(), ErrorKind::kRecipe,
               fmt::format("task {} takes {}; '{}' does not belong to it (found '{}')", task, takes,
                           name, value));
}

// Those of the files have messages of their own.
void check_foreign_options(const EvaluationOptions& options) {
  const RankingDataOptions untouched, &ranking = options.ranking;
  const std::vector<std::string> pairs = {"sts", "pairs", "classification"}, only = {"ranking"};
  const std::string foreign =
      find_foreign_options("task", options.task,
                           {{"filter", !options.columns.filter.empty(), pairs},
                            {"skip", options.columns.skip != 0, pairs},
                            {"limit", options.columns.limit != 0, pairs},
                            {"split", ranking.split != untouched.split, only},
                            {"subtask", ranking.subtask != untouched.subtask, only},
                            {"allow_unknown", ranking.allow_unknown, only},
                            {"skip_queries", ranking.skip_queries != 0, only},
                            {"limit_queries", ranking.limit_queries != 0, only}});
  SIMILE_CHECK(foreign.empty(), ErrorKind::kRecipe, foreign);
}

PairDataset read_data(const EvaluationOptions& options) {
  PairDataOptions pairs = options.columns;
  pairs.path = options.data;
  pairs.on_error = options.ranking.on_error;
  pairs.folds = options.ranking.folds;
  if (options.task == "classification") pairs.format = "classes";
  return read_pairs(pairs);
}

// dev is read whole: of the same file it would hold the rows to test on.
void check_dev_is_other(const EvaluationOptions& options) {
  const std::vector<std::string> tested = expand_paths({options.data});
  for (const std::string& file : expand_paths({options.dev})) {
    SIMILE_CHECK(
        !options.ranking.folds.is_set() || std::count(tested.begin(), tested.end(), file) == 0,
        ErrorKind::kRecipe,
        fmt::format("dev and data both read '{}', and folds cut only data: the threshold "
                    "would be chosen on the rows tested; give another file as dev, or "
                    "none",
                    file));
  }
}

PairDataset read_dev(const EvaluationOptions& options) {
  if (options.dev.empty()) return {};
  check_dev_is_other(options);
  PairDataOptions pairs = options.columns;
  pairs.path = options.dev;
  pairs.on_error = options.ranking.on_error;
  pairs.skip = options.dev_skip;
  pairs.limit = 0;
  return read_pairs(pairs);
}

void check_pair_options(const EvaluationOptions& options) {
  const char* takes = options.task == "pairs" ? "data and dev" : "data";
  const char* rows = options.task == "classification" ? "texts with a class" : "scored pairs";
  SIMILE_CHECK(!options.data.empty(), ErrorKind::kRecipe,
               fmt::format("task {} needs 'data', a file of {}", options.task, rows));
  if (options.task != "pairs") check_empty(options.task, "dev", options.dev, takes);
  SIMILE_CHECK(!options.columns.right.empty(), ErrorKind::kRecipe,
               fmt::format("task {} compares pairs: give 'right', the column of the second text",
                           options.task));
  check_empty(options.task, "queries", options.ranking.queries, takes);
  check_empty(options.task, "corpus", options.ranking.corpus, takes);
  check_empty(options.task, "qrels", options.ranking.qrels, takes);
  check_empty(options.task, "folder", options.ranking.folder, takes);
  SIMILE_CHECK(
      options.ranking.semeval.empty(), ErrorKind::kRecipe,
      fmt::format("task {} takes {}; 'semeval' does not belong to it", options.task, takes));
  check_foreign_options(options);
}

std::unique_ptr<Task> load_ranking(const EvaluationOptions& options) {
  check_empty("ranking", "data", options.data, "queries, corpus and qrels");
  check_empty("ranking", "dev", options.dev, "queries, corpus and qrels");
  check_empty("ranking", "head", options.head, "the similarity of vectors");
  check_foreign_options(options);
  RankingTaskOptions task;
  task.metrics = parse_ranking_metrics(options.metrics);
  task.gain = parse_gain(options.gain);
  task.ties = parse_tie_break(options.ties);
  SIMILE_CHECK(
      options.candidates == "corpus" || options.candidates == "judged", ErrorKind::kRecipe,
      fmt::format("candidates: expected corpus or judged, found '{}'", options.candidates));
  task.judged_candidates = options.candidates == "judged";
  task.depth = options.depth;
  return std::make_unique<RankingTask>(options.name, read_ranking_data(options.ranking), task);
}

}  // namespace

std::unique_ptr<Task> load_task(const EvaluationOptions& options) {
  if (options.task == "ranking") return load_ranking(options);
  if (options.task == "sts") {
    check_pair_options(options);
    return std::make_unique<StsTask>(options.name, read_data(options), options.head);
  }
  if (options.task == "pairs") {
    check_pair_options(options);
    return std::make_unique<PairTask>(options.name, read_data(options), read_dev(options),
                                      options.head);
  }
  if (options.task == "classification") {
    check_pair_options(options);
    return std::make_unique<ClassificationTask>(options.name, read_data(options), options.head);
  }
  throw Error(ErrorKind::kRecipe,
              fmt::format("task: expected sts, pairs, ranking or classification, found '{}'",
                          options.task));
}

Report evaluate(const EvaluationOptions& options, Scorer& scorer,
                const std::string& predictions_path) {
  return load_task(options)->evaluate(scorer, predictions_path);
}

}  // namespace simile
