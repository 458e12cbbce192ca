// SPDX-License-Identifier: Apache-2.0
// The states a run saved on its way: the newest few are kept, and the newest that can be read is
// the one to go on from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simile/core/event.h"
#include "simile/core/options.h"
#include "simile/train/train_state.h"

namespace simile {

// When states are saved, and how many are kept.
struct SaveOptions {
  double save_every_minutes = 10;
  int64_t keep_states = 2;
  bool save_evaluations = true;

  void visit(OptionVisitor& v);
};

class StateStore {
 public:
  // Files STAGE-STEP.safetensors in `folder`, which is made with the first.
  StateStore(std::string folder, int64_t keep) : folder_(std::move(folder)), keep_(keep) {}

  // Writes the state, complete or not at all, and then removes the oldest beyond `keep`. Errors:
  // ErrorKind::kIo; those saved before stay.
  void save(const TrainState& state, const std::string& recipe) const;

  // The newest state that is whole; nothing when none was saved. One that is damaged is renamed to
  // NAME.damaged, told to `events` as a warning, and the one before is taken. Errors:
  // ErrorKind::kUsage for the state of another recipe or version of
  // Simile, ErrorKind::kInput when all are damaged, also when that was told before.
  std::optional<TrainState> load(const std::string& recipe, EventSink& events) const;

 private:
  std::vector<std::string> list(const std::string& ending) const;  // paths, newest first

  std::string folder_;
  int64_t keep_;
};

}  // namespace simile
