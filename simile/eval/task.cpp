// SPDX-License-Identifier: Apache-2.0
#include "simile/eval/task.h"

#include <fmt/format.h>

#include "simile/core/error.h"
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

PairDataset read_data(const EvaluationOptions& options) {
  PairDataOptions pairs = options.columns;
  pairs.path = options.data;
  if (options.task == "classification") pairs.format = "classes";
  return read_pairs(pairs);
}

PairDataset read_dev(const EvaluationOptions& options) {
  if (options.dev.empty()) return {};
  PairDataOptions pairs = options.columns;
  pairs.path = options.dev;
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
}

std::unique_ptr<Task> load_ranking(const EvaluationOptions& options) {
  check_empty("ranking", "data", options.data, "queries, corpus and qrels");
  check_empty("ranking", "dev", options.dev, "queries, corpus and qrels");
  check_empty("ranking", "head", options.head, "the similarity of vectors");
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
