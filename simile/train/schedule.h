// SPDX-License-Identifier: Apache-2.0
// Learning rate schedules: pure functions of the step.
//
// With w warm-up steps of n in all, step s = 0 ... n-1 uses the peak learning rate times
//   s < w      s / w                              (every schedule)
//   linear     (n - s) / (n - w)
//   cosine     (1 + cos(π (s - w) / (n - w))) / 2
//   constant   1
// as transformers' get_linear_schedule_with_warmup and its like count steps.
#pragma once

#include <cstdint>
#include <string>

#include "simile/core/options.h"

namespace simile {

struct ScheduleOptions {
  std::string name = "linear";
  double warmup_fraction = 0.1;
  int64_t warmup_steps = -1;

  void visit(OptionVisitor& v);
};

// Steps of warm-up out of `total_steps`: warmup_steps when it is given, else the fraction rounded
// up; never more than total_steps.
int64_t warmup_step_count(const ScheduleOptions& options, int64_t total_steps);

// Factor in [0, 1] of the peak learning rate at `step` (from 0); 0 from total_steps on, except for
// `constant`. Errors (kRecipe): an unknown name.
double schedule_factor(const ScheduleOptions& options, int64_t step, int64_t total_steps);

// The number of steps after which weights are no longer those of the start: 1, or 2 where the first
// step's factor is 0.
int64_t first_trained_step(const ScheduleOptions& options, int64_t total_steps);

}  // namespace simile
