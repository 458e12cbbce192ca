// SPDX-License-Identifier: Apache-2.0
// Classification of texts, or of pairs of texts, by a model's head: the class predicted is the most
// probable one, the first of those that are equally so. Metrics, in order: accuracy, macro_f1
// (simile/metric/classification.h: over the classes that occur); and the confusion matrix, in the
// head's order of classes.
//
// Classes of the data and of the head are matched by name; their order may differ, and the head may
// know more. Errors of evaluate(): ErrorKind::kInput for a class of the data that the head does not
// know (with both lists), ErrorKind::kUsage for a model without heads, and those of
// simile/eval/head_output.h.
#pragma once

#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/task.h"

namespace simile {

class ClassificationTask : public Task {
 public:
  // An empty `head` is the only one a model has.
  ClassificationTask(std::string name, PairDataset data, std::string head);
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override { return data_.notes; }
  TestTexts texts() const override;

 private:
  std::string name_;
  PairDataset data_;
  std::string head_;
};

}  // namespace simile
