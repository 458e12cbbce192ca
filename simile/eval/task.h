// SPDX-License-Identifier: Apache-2.0
// A task is a data set with its gold answers, loaded once; it scores any number of models.
//
//   EvaluationOptions options;
//   options.task = "sts";
//   options.data = "stsb/dev.tsv";
//   std::unique_ptr<Task> task = load_task(options);
//   Report report = task->evaluate(scorer);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/options.h"
#include "simile/data/data_review.h"
#include "simile/data/pair_data.h"
#include "simile/data/ranking_data.h"
#include "simile/eval/report.h"
#include "simile/eval/scorer.h"

namespace simile {

struct EvaluationOptions {
  std::string task = "sts";
  std::string name;
  std::string data, dev;
  std::string head;
  int64_t dev_skip = 0;
  // Of its own are used: the columns, filter, skip and limit. The files are data and dev; on_error
  // and folds are those of `ranking`, so that each is one option.
  PairDataOptions columns;
  RankingDataOptions ranking;
  std::vector<std::string> metrics = {"map",     "mrr",        "p@1",
                                      "ndcg@10", "recall@100", "has_positive@1"};
  std::string gain = "linear";
  std::string ties = "trec_eval";
  std::string candidates = "corpus";
  int64_t depth = 1000;

  void visit(OptionVisitor& v) {
    v.field("task", task,
            choice_info("kind of evaluation", {"sts", "pairs", "ranking", "classification"}));
    v.field("name", name, {"name of the data set in reports"});
    v.field("data", data,
            path_info("sts, pairs: file of scored pairs; classification: of texts or pairs with a "
                      "class; a * in "
                      "its name stands for several files"));
    v.field(
        "dev", dev,
        path_info("pairs: file of pairs on which the threshold is chosen; empty chooses it on the "
                  "data itself, which the report labels as oracle"));
    v.field("head", head,
            {"name of the model's head that scores; empty: the similarity of the vectors, or for "
             "classification the only head"});
    columns.visit_columns(v);
    columns.visit_class_columns(v);
    columns.visit_filter(v);
    v.field("skip", columns.skip, {"pairs of data to pass over at the start", "pairs", 0});
    v.field("limit", columns.limit, {"pairs of data to read; 0 reads all", "pairs", 0});
    v.field("dev_skip", dev_skip, {"pairs of dev to pass over at the start", "pairs", 0});
    ranking.visit(v);
    v.field("metrics", metrics,
            {"ranking: map mrr p@k ndcg@k recall@k has_positive@k, in the order to report"});
    v.field("gain", gain,
            choice_info("ranking: gain of a relevance r in ndcg: r, or 2^r - 1",
                        {"linear", "exponential"}));
    v.field("ties", ties,
            choice_info("ranking: order of equal scores: id descending, as given, id ascending",
                        {"trec_eval", "input", "id"}));
    v.field("candidates", candidates,
            choice_info("ranking: rank the whole corpus, or the judged documents of each query",
                        {"corpus", "judged"}));
    v.field("depth", depth, {"ranking: documents kept per query; 0 keeps all", "documents", 0});
  }
};

class Task {
 public:
  virtual ~Task() = default;

  // Scores the model. With a path, also writes the predictions, in the files of
  // simile/eval/predictions.h. May be called again and again, as after every epoch of training.
  // Errors: ErrorKind::kFailed for a score that is not finite.
  virtual Report evaluate(Scorer& scorer, const std::string& predictions_path = "") const = 0;

  // What reading the data met that a user should know: broken bytes, unknown ids. One sentence
  // each.
  virtual std::vector<std::string> warnings() const = 0;

  // What is tested on, to be looked for in training data; views that live as long as the task.
  virtual TestTexts texts() const = 0;
};

// Reads the data. Errors: ErrorKind::kRecipe for options that are missing or do not go together;
// ErrorKind::kInput for data that cannot be read or does not fit the task.
std::unique_ptr<Task> load_task(const EvaluationOptions& options);

// load_task() and evaluate() in one.
Report evaluate(const EvaluationOptions& options, Scorer& scorer,
                const std::string& predictions_path = "");

}  // namespace simile
