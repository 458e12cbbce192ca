// SPDX-License-Identifier: Apache-2.0
// Semantic textual similarity: correlation of scores with graded gold scores. Metrics `spearman`
// and `pearson` (simile/metric/correlation.h). The scores are the model's own or, where a head is
// named, the head's (simile/eval/head_output.h).
//
// Of a set of several files, as a year of STS 2012 to 2016 has them, `spearman` is that of all
// pairs together (the field's "all"); `spearman_mean` is the mean over the files, `spearman_wmean`
// that weighted by their pairs, `spearman:FILE` that of each, and likewise of pearson. A file with
// fewer than two pairs, or with equal gold scores only, has no correlation: it has no figure of its
// own and no part in the means, which is warned of; its pairs count among all.
//
// Data that does not fit (ErrorKind::kInput): fewer than two pairs, or equal gold scores only.
#pragma once

#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/task.h"

namespace simile {

// A file of a set: its name without folder and ending, and how many of the pairs it holds.
struct StsPart {
  std::string name;
  int64_t pairs = 0;
  int64_t begin = 0;  // its first pair in the data
};

class StsTask : public Task {
 public:
  // `parts` follow one another in the data and hold all of it; empty: the data has no parts.
  StsTask(std::string name, PairDataset data, std::string head = "",
          const std::vector<StsPart>& parts = {});
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override { return data_.notes; }
  TestTexts texts() const override;

 private:
  void choose_parts(const std::vector<StsPart>& parts);

  std::string name_;
  PairDataset data_;
  std::string head_;
  std::vector<StsPart> parts_;  // that have a correlation
  std::vector<std::string> part_warnings_;
};

}  // namespace simile
