// SPDX-License-Identifier: Apache-2.0
// What one step of training tells of itself: a line of metrics.jsonl.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simile {

struct StepResult {
  std::string objective;  // its name, of several joined by +; empty in a stage that has but one
  double loss = 0;  // of the objective, without its weight and without `siar`; of parts the mean
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  double siar = 0;                                     // what it added
  std::vector<std::pair<std::string, double>> values;  // for the log: temperature, siar
};

}  // namespace simile
