// SPDX-License-Identifier: Apache-2.0
// Everything a run needs to resume with the same bits, in one file; and the state files of a run:
// the newest few are kept, and a run resumes from the newest that can be read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simile/batch/plan.h"
#include "simile/core/error.h"
#include "simile/loss/loss_options.h"
#include "simile/model/model_settings.h"
#include "simile/report/run_folder.h"
#include "simile/train/optimizer_rule.h"
#include "simile/train/selection.h"

namespace simile {

// Inputs that decide a run besides its recipe: hashes by absolute path, or values by name.
using RecipeInputs = std::map<std::string, std::string>;

// The progress of one objective of a stage.
struct ObjectiveState {
  int64_t epoch = 0;                 // epochs begun
  int64_t next_batch = 0;            // batches of the current epoch already done
  ExampleOrder order;                // the plan of the current epoch: its batches one after the
  std::vector<int32_t> batch_sizes;  // other, and the examples in each
  LossState loss;                    // what is trained with the loss

  void visit(OptionVisitor& v);  // all but arrays; of `loss` the names
};

struct TrainState {
  int64_t stage = 0;
  int64_t step = 0;             // steps done in this stage
  int64_t epoch = 0;            // epochs begun in this stage
  int64_t next_batch = 0;       // batches of the current epoch already done, of all objectives
  int64_t evaluated_step = -1;  // step of this stage's last evaluation; -1: none yet
  LogMark log;                  // metrics.jsonl, as far as it belongs to this state
  RecipeInputs inputs;          // what the run depends on
  EarlyStopState selection;
  std::vector<ObjectiveState> objectives;  // of this stage; empty before its first step
  Temperatures temperatures;               // trained before this stage
  Temperatures best_temperatures;          // those that belong to `best`
  int64_t siar_skipped = 0;                // in this stage
  int64_t planned_steps = 0;               // of this stage, while it has `minutes`
  double trained_seconds = 0;              // of them
  double step_seconds = 0;                 // of a step lately
  int64_t selected = 0;                    // 1: the stage before had a selection.metric, of which
  double selected_value = 0;               // it kept this value

  std::vector<float> weights;  // [parameters]: the encoder's, then those of its heads
  std::vector<float> best;     // [parameters], or empty while nothing was kept in this stage
  std::vector<float> average;  // [parameters] of the Bregman term, or empty
  OptimizerState optimizer;

  void visit(OptionVisitor& v);  // all but arrays
};

// Written under a temporary name and renamed. `recipe` is kept with it. Errors: ErrorKind::kIo.
void save_train_state(const std::string& path, const TrainState& state, const std::string& recipe);

// Errors: ErrorKind::kInput for a file that is not such a state or is damaged (a checksum covers
// all of it); ErrorKind::kUsage for one that belongs to another recipe or
// has another format.
TrainState load_train_state(const std::string& path, const std::string& recipe);

class StateStore {
 public:
  // Files STAGE-STEP.safetensors in `folder`, which is made with the first.
  StateStore(std::string folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

  // Writes the state, complete or not at all, and then removes the oldest beyond `keep`. Errors:
  // ErrorKind::kIo; those saved before stay.
  void save(const TrainState& state, const std::string& recipe) const;

  // The newest state that is undamaged and whose log exists, as `has_log` says; nothing if none was
  // saved. `events` is warned of every newer one, which is renamed to NAME.damaged. Errors: kUsage
  // for the state of another recipe or version of Simile; kInput if there are states and none can
  // be taken, which then stay as they are.
  using HasLog = std::function<bool(const LogMark& log)>;
  std::optional<TrainState> load(const std::string& recipe, const HasLog& has_log,
                                 EventSink& events) const;

 private:
  std::vector<std::string> list() const;  // paths, newest first

  std::string folder_;
  int64_t keep_;
};

}  // namespace simile
