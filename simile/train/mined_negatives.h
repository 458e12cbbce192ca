// SPDX-License-Identifier: Apache-2.0
// Negatives that a stage mines for its objectives with its own weights (simile/batch/mining.h),
// and the training sets with them.
//
// Lefts are the anchors; the candidates are the rights, or the texts of a corpus. Texts of the same
// token ids are the same text, so a mined negative never reads like a positive of its anchor. As
// columns every example gets `count` negatives, those of its anchor; anchors that the limits leave
// with fewer get texts drawn at random that are not their own, which is told. As pairs each
// anchor's negatives follow its first example with target 0, and positives are repeated
// (`oversample`).
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

// Errors: ErrorKind::kRecipe for data to which no negatives can be mined.
void check_mining_data(const ObjectiveMiningOptions& options, const TrainingSet& set);

// What data offers a loss once negatives are mined for it.
LossData mined_offer(const ObjectiveMiningOptions& options, LossData offer);

// The negatives of one stage. What was mined is written to `folder` (one file for each objective
// and time), because a run that is resumed no longer has the weights of then: it reads the file and
// trains on the same examples.
class NegativeMiner {
 public:
  // All outlive this. `data` is that of the stage's objectives; its training sets are replaced.
  NegativeMiner(const TrainOptions& options, size_t stage, const StartModel& start,
                ModelWeights& weights, const RunFolder& folder, std::vector<ObjectiveData>& data,
                EventSink& events, ProcessGroup* processes = nullptr);
  ~NegativeMiner();

  // Before the stage's first step: mines. Later: reads what was mined for the epochs in which the
  // objectives stand. Errors: ErrorKind::kInput where that is missing or belongs to other data.
  void begin_stage(const TrainState& state);

  // Whether an objective's negatives are to be mined again before this epoch, and doing so. The
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
