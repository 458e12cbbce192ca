// SPDX-License-Identifier: Apache-2.0
// Tasks on pairs of texts, or on single texts, with a gold answer each. Their metrics are the rows
// of simile/eval/metric_table.h. Scores of pairs are the model's own or, where a head is named, the
// head's (simile/eval/head_output.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/metric_table.h"
#include "simile/eval/task.h"

namespace simile {

// What these tasks share.
class PairDataTask : public Task {
 public:
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override { return data_.notes; }
  TestTexts texts() const override;

 protected:
  PairDataTask(std::string task, std::string name, PairDataset data);
  const PairDataset& data() const { return data_; }
  // The report of these answers: what was evaluated, and each metric of the task.
  Report make_report(const Scorer& scorer, const Answers& answers) const;

 private:
  std::string task_, name_;
  PairDataset data_;
};

// A file of a set: its name without folder and ending, and how many of the pairs it holds.
struct StsPart {
  std::string name;
  int64_t pairs = 0;
  int64_t begin = 0;  // its first pair in the data
};

// Semantic textual similarity: correlation of scores with graded gold scores.
//
// In a set of several files, as a year of STS 2012 to 2016 has them, `spearman` is over all pairs
// together (the field's "all"); `spearman_mean` is the mean over the files, `spearman_wmean` that
// weighted by their pairs, `spearman:FILE` the value of each, and likewise for pearson. A file with
// fewer than two pairs, or with equal gold scores only, has no correlation: it has no figure of its
// own and no part in the means, which a warning tells; its pairs count among all.
//
// Data that does not fit (ErrorKind::kInput): fewer than two pairs, or equal gold scores only.
class StsTask : public PairDataTask {
 public:
  // `parts` follow one another in the data and hold all of it; empty: the data has no parts.
  StsTask(std::string name, PairDataset data, std::string head = "",
          const std::vector<StsPart>& parts = {});
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> warnings() const override;

 private:
  void choose_parts(const std::vector<StsPart>& parts);

  std::string head_;
  std::vector<StsPart> parts_;  // that have a correlation
  std::vector<std::string> part_warnings_;
};

// Paraphrase or duplicate detection: is a pair positive (gold 1) or not (gold 0)?
//
//   f1, accuracy        at the thresholds best for each on the dev set, applied to the test set
//   mcc                 at the threshold of F1, as in sentence-transformers
//   threshold           for accuracy;  f1_threshold: for F1
//
// Without a dev set the thresholds are chosen on the test set itself, which flatters: the report
// then notes "threshold: oracle".
//
// Data that does not fit (ErrorKind::kInput): gold scores other than 0 and 1, or all of one kind.
class PairTask : public PairDataTask {
 public:
  // `dev` may be empty.
  PairTask(std::string name, PairDataset data, PairDataset dev, std::string head = "");
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override;

 private:
  PairDataset dev_;
  std::string head_;
  std::vector<int> labels_, dev_labels_;
};

// Classification of texts, or of pairs of texts, by a model's head: the class predicted is the most
// probable one, the first of those that are equally so. The report has the confusion matrix, in the
// head's order of classes.
//
// Classes of the data and of the head are matched by name; their order may differ, and the head may
// know more. Errors of evaluate(): ErrorKind::kInput for a class of the data that the head does not
// know (with both lists), ErrorKind::kUsage for a model without heads, and those of
// simile/eval/head_output.h.
class ClassificationTask : public PairDataTask {
 public:
  // An empty `head` is the only one a model has.
  ClassificationTask(std::string name, PairDataset data, std::string head);
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;

 private:
  std::string head_;
};

// How a model's vectors of the texts of pairs lie:
//
//   alignment     over the pairs whose score is above `positive_above`; lower is better
//   uniformity    over the distinct texts of all pairs; lower is better
//   mean_cosine   of the distinct texts, its distance from 0 being their anisotropy
//   pc@1, pc@10   share of their variance in the first 1 and 10 principal components
//
// If there are more than 5,000 distinct texts, that many, evenly spread, are used for the last
// three, which a note tells. The model's own vectors are taken, not a head's; there are no
// predictions.
//
// Data that does not fit (ErrorKind::kInput): no pair above `positive_above`, fewer than two texts.
// ErrorKind::kUsage: a scorer without vectors.
class GeometryTask : public PairDataTask {
 public:
  GeometryTask(std::string name, PairDataset data, double positive_above);
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;

 private:
  std::vector<std::string> left_, right_;  // of the positive pairs
  std::vector<std::string> distinct_;      // the texts that are used
  int64_t distinct_count_ = 0;             // all of them
};

}  // namespace simile
