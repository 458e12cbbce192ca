// SPDX-License-Identifier: Apache-2.0
// The training loss as people want to see it: that of one batch jumps about.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simile {

// Of each objective by itself, with losses x_1, ..., x_n: sum d^(n-i) x_i / sum d^(n-i), d = 0.95,
// so that about the last twenty steps count. For progress alone: a run that is resumed begins anew.
class RecentLosses {
 public:
  // `objective` as StepResult has it: empty in a stage with but one.
  void add(const std::string& objective, double loss);
  void clear() { losses_.clear(); }

  // {"loss", 2.31}, or {"loss (NAME)", ..} of each objective, in order of appearance.
  std::vector<std::pair<std::string, double>> values() const;

 private:
  struct Mean {
    std::string objective;
    double sum = 0, weight = 0;
  };
  std::vector<Mean> losses_;
};

}  // namespace simile
