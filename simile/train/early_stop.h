// SPDX-License-Identifier: Apache-2.0
// Which evaluation was the best, and whether training should stop.
#pragma once

#include <cstdint>
#include <string>

#include "simile/core/options.h"

namespace simile {

struct EarlyStopOptions {
  int64_t patience = 0;
  double minimum_improvement = 0.0;
  std::string direction = "auto";  // who knows the metric puts max or min in its place

  void visit(OptionVisitor& v);
};

// Everything a checkpoint must hold.
struct EarlyStopState {
  int64_t evaluations = 0;       // values seen
  int64_t best_evaluation = -1;  // number from 0 of the best; -1: none yet
  double best_value = 0.0;
  double reference_value = 0.0;     // what the next value must exceed to restart the patience
  int64_t without_improvement = 0;  // evaluations since
};

class EarlyStop {
 public:
  explicit EarlyStop(const EarlyStopOptions& options) : options_(options) {}

  // Takes the next value; true when it is strictly the best so far (a tie keeps the earlier; what
  // is not finite is never the best). Patience starts again only when the value is better by more
  // than minimum_improvement than the value at which it last did.
  bool update(double value);

  // True after `patience` evaluations in a row without such an improvement; never when patience is
  // 0.
  bool should_stop() const {
    return options_.patience > 0 && state_.without_improvement >= options_.patience;
  }

  const EarlyStopState& state() const { return state_; }
  void load_state(const EarlyStopState& state) { state_ = state; }

 private:
  EarlyStopOptions options_;
  EarlyStopState state_;
};

}  // namespace simile
