// SPDX-License-Identifier: Apache-2.0
#include "simile/train/run_loop.h"

#include <algorithm>

#include "simile/core/check.h"

namespace simile {

void RecentLosses::add(const std::string& objective, double loss) {
  constexpr double kDecay = 0.95;
  auto mean = std::find_if(losses_.begin(), losses_.end(), [&objective](const Mean& other) {
    return other.objective == objective;
  });
  if (mean == losses_.end()) mean = losses_.insert(mean, Mean{objective});
  mean->sum = kDecay * mean->sum + loss;
  mean->weight = kDecay * mean->weight + 1;
}

std::vector<std::pair<std::string, double>> RecentLosses::values() const {
  std::vector<std::pair<std::string, double>> values;
  for (const Mean& mean : losses_) {
    values.emplace_back(mean.objective.empty() ? "loss" : "loss (" + mean.objective + ")",
                        mean.sum / mean.weight);
  }
  return values;
}

RunLoop::RunLoop(const std::string& folder, bool resume, bool overwrite, const SaveOptions& save,
                 std::string recipe, SteppedTraining& training, EventSink& events)
    : save_(save),
      resume_(resume),
      recipe_(std::move(recipe)),
      training_(training),
      events_(events),
      folder_(folder, resume, overwrite),
      states_(folder_.states_path(), save.keep_states) {}

void RunLoop::begin(const RecipeInputs& inputs) {
  if (resume_) {
    folder_.check_resume(false);
    resume(inputs);
  } else {
    folder_.remove_old_run();
  }
  state_.inputs = inputs;
  folder_.cut_metrics(state_.log.bytes);
  folder_.write_run(recipe_);
}

void RunLoop::resume(const RecipeInputs& inputs) {
  const auto has_log = [&](const LogMark& log) { return folder_.has_metrics(log); };
  std::optional<TrainState> saved = states_.load(recipe_, has_log, events_);
  if (!saved) {
    return events_.info(fmt::format("'{}' holds no state to go on from: the run begins anew",
                                    folder_.states_path()));
  }
  for (const auto& [name, value] : inputs) {
    const auto found = saved->inputs.find(name);
    SIMILE_CHECK(found == saved->inputs.end() || found->second == value, ErrorKind::kInput,
                 "cannot resume '{}': {} was {} when the run began and is {} now; restore it, or "
                 "start again with --overwrite",
                 folder_.path(), name, found->second, value);
  }
  state_ = std::move(*saved);
  training_.take_state(state_);
  events_.info(fmt::format("resuming at {}", training_.position()));
}

void RunLoop::run(const std::function<void()>& stages) {
  begun_ = Clock::now();
  try {
    stages();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInterrupted) throw;
    save();
    throw_error(ErrorKind::kInterrupted, "{}; saved at {}: {}", error.what(), training_.position(),
                resume_ ? "the same command goes on" : "add --resume to go on");
  }
}

void RunLoop::run_stage() {
  recent_losses_.clear();
  for (;;) {
    if (training_.is_evaluation_due()) {
      training_.evaluate();
      if (save_.save_evaluations) save();
    }
    if (training_.is_done()) return;
    const StepResult result = training_.step();
    ++state_.step;
    Progress progress = training_.progress();
    folder_.log_step(progress.task, state_.step, training_.epochs_done(), result);
    recent_losses_.add(result.objective, result.loss);
    const auto losses = recent_losses_.values();
    progress.values.insert(progress.values.end(), losses.begin(), losses.end());
    progress.values.insert(progress.values.end(), result.values.begin(), result.values.end());
    events_.progress(progress);
    const std::chrono::duration<double, std::ratio<60>> elapsed = Clock::now() - saved_at_;
    if (save_.save_every_minutes > 0 && elapsed.count() >= save_.save_every_minutes) save();
  }
}

void RunLoop::log_evaluation(const Report& report) {
  folder_.log_evaluation(training_.progress().task, state_.step, training_.epochs_done(), report);
}

void RunLoop::save() {
  saved_at_ = Clock::now();
  if (save_.keep_states == 0) return;
  training_.fill_state(state_);
  state_.log = folder_.flush_metrics();
  states_.save(state_, recipe_);
  release_copies();
}

void RunLoop::release_copies() {
  state_.weights = {};
  state_.average = {};
  state_.optimizer = {};
}

void RunLoop::finish(const std::vector<Report>& reports, const std::optional<Verdict>& verdict) {
  const std::chrono::duration<double> elapsed = Clock::now() - begun_;
  folder_.write_results(reports, elapsed.count(), verdict);
}

}  // namespace simile
