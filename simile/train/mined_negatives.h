// SPDX-License-Identifier: Apache-2.0
// Negatives that a stage mines with its own weights (simile/batch/mining.h), and sets with them.
//
// Lefts are the anchors; the candidates are the rights, or the texts of a corpus. Texts of the same
// token ids are the same text, so a mined negative never reads like a positive of its anchor. As
// columns every example gets `count` negatives, those of its anchor; anchors with fewer negatives
// within the limits get random texts that are not their own, and this is reported. As pairs each
// anchor's negatives follow its first example with target 0; `oversample` repeats positives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simile/core/error.h"
#include "simile/report/run_folder.h"
#include "simile/train/objective.h"
#include "simile/train/placement.h"
#include "simile/train/process_group.h"
#include "simile/train/start_model.h"
#include "simile/train/train_options.h"
#include "simile/train/train_state.h"

namespace simile {

// Errors: ErrorKind::kRecipe for data that no negatives can be mined for.
void check_mining_data(const ObjectiveMiningOptions& options, const TrainingSet& set);

// The columns that data offers a loss once negatives are mined for it.
LossData mined_offer(const ObjectiveMiningOptions& options, LossData offer);

// The negatives of one stage. Mined negatives are written to `folder` (one file for each objective
// and time), because a resumed run no longer has the weights that mined them; it reads the file.
class NegativeMiner {
 public:
  // All outlive this. `data` is that of the stage's objectives; its training sets are replaced.
  NegativeMiner(const TrainOptions& options, size_t stage, const StartModel& start,
                ModelWeights& weights, const RunFolder& folder, std::vector<ObjectiveData>& data,
                EventSink& events, ProcessGroup* processes = nullptr);
  ~NegativeMiner();

  // Before the stage's first step: mines. Later: reads those mined for the objectives' current
  // epochs. Errors: ErrorKind::kInput where that is missing or belongs to other data.
  void begin_stage(const TrainState& state);

  // Whether an objective's negatives must be mined again before this epoch, and mining them. The
  // weights must be up to date (Optimizer::flush_rows()).
  bool is_due(size_t objective, int64_t epoch) const;
  void mine(size_t objective, int64_t epoch);

 private:
  class Pool;
  using Negatives = std::vector<std::vector<int32_t>>;  // [anchors] rows of the pool's plan

  Pool& pool(size_t objective);
  Negatives choose(size_t objective, int64_t epoch);
  Negatives read(size_t objective, int64_t epoch);
  std::string file(size_t objective, int64_t epoch) const;
  void use(size_t objective, const Negatives& negatives);

  const TrainOptions& run_;
  const StageOptions& options_;
  const StartModel& start_;
  ModelWeights& weights_;
  const RunFolder& folder_;
  std::vector<ObjectiveData>& data_;
  EventSink& events_;
  ProcessGroup* processes_;                   // that share the encoding; null: this one alone
  std::vector<std::unique_ptr<Pool>> pools_;  // [objectives]
};

}  // namespace simile
