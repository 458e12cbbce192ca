// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/trial.h"

#include <algorithm>
#include <cmath>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/train/selection.h"

namespace simile {
namespace {

constexpr int64_t kJournalFormat = 1;
constexpr size_t kMinOthers = 5;
constexpr double kRounding = 1e-9;  // of parts of a stage

// In the order of Trial::State.
const std::vector<std::string> kTrialStates = {"open", "finished", "stopped", "failed"};

struct TrialJournal {
  int64_t format = 0;
  std::string search;
  Trial trial;

  void visit(OptionVisitor& v) {
    v.field("format", format, {});
    v.field("search", search, {});
    trial.visit(v);
  }
};

bool has_reached(const SelectedValue& value, double part) {
  return value.step > 0 && value.done >= part - kRounding;
}

}  // namespace

std::string name_of(Trial::State state) { return kTrialStates[static_cast<size_t>(state)]; }

void Trial::visit(OptionVisitor& v) {
  std::string state_name = name_of(state), keep = keeps_best ? "best" : "last";
  auto told = error.empty() ? std::nullopt : std::optional(error);
  v.required("trial", number);
  v.required("origin", origin);
  v.field("state", state_name, choice_info("", kTrialStates).required());
  v.required("point", point);
  v.required("values", values);
  v.field("keep", keep, {});
  v.field("error", told, {});
  const auto found = std::find(kTrialStates.begin(), kTrialStates.end(), state_name);
  state = static_cast<State>(found - kTrialStates.begin());
  keeps_best = keep == "best";
  error = told.value_or("");
}

std::optional<Trial> read_trial(const std::string& path, const std::string& search) {
  if (!file_exists(path)) return std::nullopt;
  const std::string json = read_file(path);
  TrialJournal journal;
  try {
    read_json_options(json, path, journal);
  } catch (const Error&) {
    throw_error(ErrorKind::kInput, "{}: a damaged trial; remove it", path);
  }
  SIMILE_CHECK(journal.format == kJournalFormat && journal.search == search, ErrorKind::kInput,
               "{}: not a trial of this search; remove it", path);
  return journal.trial;
}

void write_trial(const std::string& path, const std::string& search, const Trial& trial) {
  write_file_atomic(path, options_to_json(TrialJournal{kJournalFormat, search, trial}) + "\n");
}

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
  return !std::isfinite(than) || simile::is_better(value, than, lower_is_better_);
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
  std::sort(theirs.begin(), theirs.end());
  const size_t middle = theirs.size() / 2;
  const double median =
      theirs.size() % 2 == 1 ? theirs[middle] : (theirs[middle - 1] + theirs[middle]) / 2;
  return !best || is_better(median, *best);
}

}  // namespace simile
