// SPDX-License-Identifier: Apache-2.0
// A trial of a search (simile/experiment/tuning.h): its journal on disk, which values of a metric
// are better, and whether a trial's values end it early.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simile/experiment/search_space.h"
#include "simile/train/trainer.h"

namespace simile {

using SelectedValues = std::vector<SelectedValue>;  // of one stage, in order

struct Trial {
  enum class State { kOpen, kFinished, kStopped, kFailed };

  int64_t number = 1;
  std::string origin;  // recipe, initial, gp, random, grid
  SearchPoint point;
  State state = State::kOpen;
  SelectedValues values;        // of the last stage
  bool keeps_best = true;       // or the last weights
  std::optional<double> value;  // the best, or where weights are kept so the last
  std::string error;
  std::string folder;

  void visit(OptionVisitor& v);  // all but value and folder
};
std::string name_of(Trial::State state);  // "open", "finished", ...

// The trial as search `search`, a hash, noted it; none where there is no file. Errors:
// ErrorKind::kInput for another file, or one of another search.
std::optional<Trial> read_trial(const std::string& path, const std::string& search);
void write_trial(const std::string& path, const std::string& search, const Trial& trial);

// Whether training should end after the last of its values so far.
using StopRule = std::function<bool(const SelectedValues& values)>;

// Whether the stage continues after the value.
bool is_early(const SelectedValue& value);

// Ends at the first value after the given part of the stage's steps.
StopRule stop_at(double part);

// How many values there are up to that one; all, where no value is so late.
size_t count_until(const SelectedValues& values, double part);

// Whether a rule would have ended the stage at one of the values.
bool has_stopped(const SelectedValues& values, const StopRule& rule);

class TrialJudge {
 public:
  explicit TrialJudge(bool lower_is_better = false) : lower_is_better_(lower_is_better) {}

  // A value that is not finite is worse than each that is.
  bool is_better(double value, double than) const;

  // A cost that is lower for the better value; the function is its own inverse.
  double cost(double value) const { return lower_is_better_ ? value : -value; }

  // The best of the first `count` values; none where none is finite.
  std::optional<double> best_of(const SelectedValues& values, size_t count) const;

  // The value of the weights that the trial keeps; none of a failed one.
  std::optional<double> result_of(const Trial& trial) const;

  // Median stopping (Golovin et al., KDD 2017): whether the best value is worse than the median of
  // the others' best over the same number of values. Others that failed or have fewer values do not
  // count, and fewer than five that do say nothing; nor does the value before the first step.
  bool is_hopeless(const SelectedValues& values, const Trial* others, size_t count) const;

 private:
  bool lower_is_better_;
};

}  // namespace simile
