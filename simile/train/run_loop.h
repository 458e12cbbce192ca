// SPDX-License-Identifier: Apache-2.0
// The loop of every kind of training: steps and evaluations, their log, and saved states from which
// an interrupted run continues with the same bits.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/eval/report.h"
#include "simile/report/run_folder.h"
#include "simile/report/run_log.h"
#include "simile/train/train_state.h"

namespace simile {

// A smoothed training loss for progress, because the loss of one batch jumps about. For each
// objective with losses x_1, ..., x_n: sum d^(n-i) x_i / sum d^(n-i), d = 0.95, so that about the
// last twenty steps count. A resumed run starts the sum anew.
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

// The training that a RunLoop drives. Its position is in RunLoop::state(); `step`, `log` and
// `inputs` of that belong to the loop.
class SteppedTraining {
 public:
  virtual ~SteppedTraining() = default;

  virtual bool is_evaluation_due() const = 0;
  virtual void evaluate() = 0;       // and keeps what is to be kept of it
  virtual bool is_done() const = 0;  // with this stage
  virtual StepResult step() = 0;     // step number state().step, from 0

  // `task` is the stage's name, in the log too; `values` are those to show before the step's own.
  virtual Progress progress() const = 0;
  virtual double epochs_done() const = 0;    // of the stage
  virtual std::string position() const = 0;  // "stage 1 step 20", for messages

  // Fills in the parts that the state does not hold during training, above all weights and the
  // optimiser's moments. take_state() continues from a saved state, which becomes the loop's.
  virtual void fill_state(TrainState& state) = 0;
  virtual void take_state(TrainState& state) = 0;
};

class RunLoop {
 public:
  // `training` outlives this; `recipe` is the resolved recipe as JSON. With `save.keep_states` 0
  // no state is saved. Errors: as RunFolder.
  RunLoop(const std::string& folder, bool resume, bool overwrite, const SaveOptions& save,
          std::string recipe, SteppedTraining& training, EventSink& events);

  // Before the first step: continues from the newest saved state if there is one to resume, or
  // removes the run that the folder held; then writes run.json. `inputs`: everything besides the
  // recipe that decides the result. Errors: as StateStore::load() and RunFolder::check_resume();
  // kInput, with its name, for an input that differs from that at the run's start.
  void begin(const RecipeInputs& inputs);

  // Calls `stages`, which calls run_stage() for each. ErrorKind::kInterrupted, as `events` may
  // throw it, is passed on when the state is saved.
  void run(const std::function<void()>& stages);

  // Trains until is_done(). state() always describes exactly the work done, so that an interruption
  // between any two lines can be saved and resumed.
  void run_stage();

  void log_evaluation(const Report& report);
  void save();
  void release_copies();  // what fill_state() fills in with most memory
  // Writes results.json.
  void finish(const std::vector<Report>& reports, const std::optional<Verdict>& verdict = {});

  TrainState& state() { return state_; }
  const RunFolder& folder() const { return folder_; }
  const RecentLosses& recent_losses() const { return recent_losses_; }  // of the stage

 private:
  using Clock = std::chrono::steady_clock;

  void resume(const RecipeInputs& inputs);

  SaveOptions save_;
  bool resume_;
  std::string recipe_;
  SteppedTraining& training_;
  EventSink& events_;
  RunFolder folder_;
  StateStore states_;
  TrainState state_;
  RecentLosses recent_losses_;
  Clock::time_point begun_ = Clock::now(), saved_at_ = begun_;
};

}  // namespace simile
