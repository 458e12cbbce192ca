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
#include <optional>
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
  // Only its columns, filter, skip and limit are used. `data` and `dev` name the files; on_error
  // and folds are those of `ranking`, so that each is one option.
  PairDataOptions columns;
  RankingDataOptions ranking;
  std::vector<std::string> metrics = {"map",     "mrr",        "p@1",
                                      "ndcg@10", "recall@100", "has_positive@1"};
  std::string gain = "linear";
  std::string ties = "trec_eval";
  std::string candidates = "corpus";
  int64_t depth = 1000;
  bool exclude_self = false;
  double positive_above = 0.5;
  std::vector<std::string> seen;

  void visit(OptionVisitor& v);

 private:
  void visit_pairs(OptionVisitor& v);
  void visit_ranking(OptionVisitor& v);
};

class HybridScorer;  // simile/eval/hybrid_scorer.h
struct Predictions;  // simile/eval/predictions.h

class Task {
 public:
  virtual ~Task() = default;

  // Scores the model. With a path, also writes the predictions, in the files of
  // simile/eval/predictions.h; with `predictions`, leaves them there, without a path. May be called
  // again and again. Errors: ErrorKind::kFailed for a score that is not finite.
  virtual Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                          Predictions* predictions = nullptr) const = 0;

  // The metrics that evaluate() reports, in its order.
  virtual std::vector<std::string> metric_names() const = 0;

  // Problems in the data that a user should know: broken bytes, unknown ids. One sentence each.
  virtual std::vector<std::string> warnings() const = 0;

  // How the data was made and what was left out of it, for the user.
  virtual std::vector<std::string> notes() const { return {}; }

  // `texts` are those of the training data. A ranking then reports its first metric separately for
  // queries with a relevant document among them and for the other queries.
  virtual void tell_seen(const KeySet& /*texts*/) {}

  // A ranking chooses the weight of a hybrid on its judgements of dev, or, where `on_own`, on those
  // that evaluate() takes, for a set that is itself the dev of a run. None without judgements of
  // dev, and for other tasks.
  virtual std::optional<double> choose_weight(HybridScorer& /*hybrid*/, bool /*on_own*/) const {
    return std::nullopt;
  }

  // The tested texts, to be looked for in training data; views that live as long as the task.
  virtual TestTexts texts() const = 0;
};

// Reads the data. Errors: ErrorKind::kRecipe for options that are missing or do not go together;
// ErrorKind::kInput for data that cannot be read or does not fit the task.
std::unique_ptr<Task> load_task(const EvaluationOptions& options);

// load_task() and evaluate() in one.
Report evaluate(const EvaluationOptions& options, Scorer& scorer,
                const std::string& predictions_path = "");

}  // namespace simile
