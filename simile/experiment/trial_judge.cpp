// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/detail/trial_judge.h"

#include <algorithm>
#include <cmath>

namespace simile {
namespace {

constexpr size_t kMinOthers = 5;
constexpr double kRounding = 1e-9;  // of parts of a stage

bool has_reached(const SelectedValue& value, double part) {
  return value.step > 0 && value.done >= part - kRounding;
}

double middle_of(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

bool is_early(const SelectedValue& value) { return value.done < 1 - kRounding; }

StopRule stop_at(double part) {
  return [part](const SelectedValues& values) { return has_reached(values.back(), part); };
}

size_t count_until(const SelectedValues& values, double part) {
  const auto at = std::find_if(values.begin(), values.end(), [part](const SelectedValue& value) {
    return has_reached(value, part);
  });
  return static_cast<size_t>(at - values.begin()) + (at == values.end() ? 0 : 1);
}

bool has_stopped(const SelectedValues& values, const StopRule& rule) {
  SelectedValues first;
  for (const SelectedValue& value : values) {
    first.push_back(value);
    if (is_early(value) && rule(first)) return true;
  }
  return false;
}

bool TrialJudge::is_better(double value, double than) const {
  if (!std::isfinite(value)) return false;
  return !std::isfinite(than) || (lower_is_better_ ? value < than : value > than);
}

std::optional<double> TrialJudge::best_of(const SelectedValues& values, size_t count) const {
  std::optional<double> best;
  for (size_t i = 0; i < std::min(count, values.size()); ++i) {
    if (!std::isfinite(values[i].value)) continue;
    if (!best || is_better(values[i].value, *best)) best = values[i].value;
  }
  return best;
}

std::optional<double> TrialJudge::result_of(const Trial& trial) const {
  const SelectedValues& values = trial.values;
  if (trial.state == Trial::State::kFailed) return std::nullopt;
  if (trial.keeps_best || values.empty()) return best_of(values, values.size());
  const double last = values.back().value;
  return std::isfinite(last) ? std::optional(last) : std::nullopt;
}

bool TrialJudge::is_hopeless(const SelectedValues& values, const Trial* others,
                             size_t count) const {
  if (values.back().step == 0) return false;
  std::vector<double> theirs;
  for (size_t i = 0; i < count; ++i) {
    const Trial& other = others[i];
    if (other.state == Trial::State::kFailed || other.values.size() < values.size()) continue;
    if (const auto best = best_of(other.values, values.size())) theirs.push_back(*best);
  }
  if (theirs.size() < kMinOthers) return false;
  const std::optional<double> best = best_of(values, values.size());
  return !best || is_better(middle_of(theirs), *best);
}

}  // namespace simile
