// SPDX-License-Identifier: Apache-2.0
// How a stage went, read again from the run's log, and why it may have brought nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/report/run_log.h"
#include "simile/train/train_options.h"

namespace simile {

struct StageCourse {
  std::string stage;
  std::string metric;  // "dev.map", "mean of dev.map, faq.mrr"
  bool is_loss = false;
  bool lower_is_better = false;
  double learning_rate = 0;
  int64_t steps = 0;                  // done
  int64_t examples = 0;               // of the smallest evaluation, where the caller knows it
  std::vector<CurvePoint> values;     // of the metric, by step; without those that are not finite
  std::optional<double> loss_change;  // of the training loss from beginning to end: -0.4 fell 40 %

  bool is_better(double value, double than) const {
    return lower_is_better ? value < than : value > than;
  }
  const CurvePoint& best() const;  // the first of the best values; there is one at least

  std::string show(double value) const;  // losses as they are, metrics x 100

  // There is a value of step 0, and none that is better.
  bool is_start_best() const;
};

// The course of `metrics`, each EVALUATION.METRIC or loss.NAME, as the lines of the stage in
// metrics.jsonl have them. `loss_change` compares the medians of the first and the last tenth of
// the steps, five at least, of each objective by itself; of several objectives it is the mean.
// Nothing while there are fewer than four steps.
StageCourse read_stage_course(const std::string& log_path, const StageOptions& options,
                              const std::vector<std::string>& metrics);

// Why no later weights were better than those of step 0, the likeliest first: one sentence each,
// with what to try. For a course whose start is the best, or worse at its end than at its start.
std::vector<std::string> likely_causes(const StageCourse& course);

}  // namespace simile
