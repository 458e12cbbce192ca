// SPDX-License-Identifier: Apache-2.0
#include "simile/train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simile/core/error.h"

namespace simile {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kRoundingSlack = 1e-9;  // 0.1 of 30 steps is 3, whatever the product's last bit

}  // namespace

void ScheduleOptions::visit(OptionVisitor& v) {
  OptionInfo name_info{"what follows the warm-up: a line or a half cosine down to 0, or no change"};
  name_info.choices = {"linear", "cosine", "constant"};
  v.field("name", name, name_info);
  v.field("warmup_fraction", warmup_fraction,
          {"share of all steps during which the learning rate rises from 0", "", 0.0, 1.0});
  v.field("warmup_steps", warmup_steps,
          {"warm-up as a number of steps; -1 to go by the fraction", "steps", -1.0});
}

int64_t warmup_step_count(const ScheduleOptions& options, int64_t total_steps) {
  if (options.warmup_steps >= 0) return std::min(options.warmup_steps, total_steps);
  const double steps = options.warmup_fraction * static_cast<double>(total_steps);
  return std::min(static_cast<int64_t>(std::ceil(steps - kRoundingSlack)), total_steps);
}

double schedule_factor(const ScheduleOptions& options, int64_t step, int64_t total_steps) {
  const int64_t warmup = warmup_step_count(options, total_steps);
  if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup);
  if (options.name == "constant") return 1.0;
  if (step >= total_steps) return 0.0;
  const double rest = static_cast<double>(total_steps - warmup);
  const double done = static_cast<double>(step - warmup) / rest;
  if (options.name == "linear") return static_cast<double>(total_steps - step) / rest;
  if (options.name == "cosine") return 0.5 * (1.0 + std::cos(kPi * done));
  throw Error(
      ErrorKind::kRecipe,
      fmt::format("'{}' is no schedule; choose one of linear, cosine, constant", options.name));
}

int64_t first_trained_step(const ScheduleOptions& options, int64_t total_steps) {
  return schedule_factor(options, 0, total_steps) > 0 ? 1 : 2;
}

}  // namespace simile
