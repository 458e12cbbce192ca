// SPDX-License-Identifier: Apache-2.0
// Semantic textual similarity: correlation of scores with graded gold scores. Metrics `spearman`
// and `pearson` (simile/metric/correlation.h). The scores are the model's own or, where a head is
// named, the head's (simile/eval/head_output.h).
//
// Data that does not fit (ErrorKind::kInput): fewer than two pairs, or equal gold scores only.
#pragma once

#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/task.h"

namespace simile {

class StsTask : public Task {
 public:
  StsTask(std::string name, PairDataset data, std::string head = "");
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override { return data_.notes; }
  TestTexts texts() const override;

 private:
  std::string name_;
  PairDataset data_;
  std::string head_;
};

}  // namespace simile
