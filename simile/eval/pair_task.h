// SPDX-License-Identifier: Apache-2.0
// Paraphrase or duplicate detection: is a pair positive (gold 1) or not (gold 0)? Metrics, in
// order:
//
//   f1, accuracy        at the thresholds best for each on the dev set, applied to the test set
//   ap                  average precision; needs no threshold
//   mcc                 Matthews correlation at the F1 threshold, as in sentence-transformers
//   threshold           for accuracy;  f1_threshold: for F1
//
// Without a dev set the thresholds are chosen on the test set itself, which flatters: the report
// then notes "threshold: oracle". Formulas: simile/metric/threshold.h. The scores are the model's
// own or, where a head is named, the head's (simile/eval/head_output.h).
//
// Data that does not fit (ErrorKind::kInput): gold scores other than 0 and 1, or all of one kind.
#pragma once

#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/task.h"

namespace simile {

class PairTask : public Task {
 public:
  // `dev` may be empty.
  PairTask(std::string name, PairDataset data, PairDataset dev, std::string head = "");
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override;
  TestTexts texts() const override;

 private:
  std::string name_;
  PairDataset data_, dev_;
  std::string head_;
  std::vector<int> labels_, dev_labels_;
};

}  // namespace simile
