// SPDX-License-Identifier: Apache-2.0
#include "simile/train/early_stop.h"

#include <cmath>

namespace simile {

void EarlyStopOptions::visit(OptionVisitor& v) {
  v.field("patience", patience,
          {"stop after this many evaluations in a row without improvement; 0 never stops",
           "evaluations", 0.0});
  v.field("minimum_improvement", minimum_improvement,
          {"an evaluation must be better by more than this to restart the patience", "", 0.0});
  v.field("direction", direction,
          choice_info("whether a higher (max) or a lower (min) value is better; auto: lower for "
                      "losses, higher for metrics",
                      {"auto", "max", "min"}));
}

bool EarlyStop::update(double value) {
  const int64_t number = state_.evaluations++;
  const bool first = state_.best_evaluation < 0;
  const double sign = options_.direction == "min" ? -1.0 : 1.0;
  const bool is_best = std::isfinite(value) && (first || sign * (value - state_.best_value) > 0.0);
  if (is_best) {
    state_.best_value = value;
    state_.best_evaluation = number;
  }
  const double gain = sign * (value - state_.reference_value);
  if (is_best && (first || gain > options_.minimum_improvement)) {
    state_.reference_value = value;
    state_.without_improvement = 0;
  } else {
    ++state_.without_improvement;
  }
  return is_best;
}

}  // namespace simile
