// SPDX-License-Identifier: Apache-2.0
// How a model's vectors of the texts of pairs lie (simile/kernel/embedding_geometry.h). Metrics:
//
//   alignment     over the pairs whose score is above `positive_above`; lower is better
//   uniformity    over the distinct texts of all pairs; lower is better
//   mean_cosine   of the distinct texts, its distance from 0 being their anisotropy
//   pc@1, pc@10   share of their variance in the first 1 and 10 principal components
//
// Of more than 5,000 distinct texts as many, evenly spread, are looked at for the last three, which
// a note tells. The model's own vectors are taken, not a head's; there are no predictions.
//
// Data that does not fit (ErrorKind::kInput): no pair above `positive_above`, fewer than two texts.
// ErrorKind::kUsage: a scorer without vectors.
#pragma once

#include <string>
#include <vector>

#include "simile/data/pair_data.h"
#include "simile/eval/task.h"

namespace simile {

class GeometryTask : public Task {
 public:
  GeometryTask(std::string name, PairDataset data, double positive_above);
  Report evaluate(Scorer& scorer, const std::string& predictions_path = "",
                  Predictions* predictions = nullptr) const override;
  std::vector<std::string> metric_names() const override;
  std::vector<std::string> warnings() const override;
  std::vector<std::string> notes() const override { return data_.notes; }
  TestTexts texts() const override;

 private:
  std::string name_;
  PairDataset data_;
  std::vector<std::string> left_, right_;  // of the positive pairs
  std::vector<std::string> distinct_;      // those that are looked at
  int64_t distinct_count_ = 0;             // all of them
};

}  // namespace simile
