// SPDX-License-Identifier: Apache-2.0
// What a run in several processes needs beside its steps: that all have the same before the first
// one, and a folder of their own for those that are not rank 0, whose files nobody keeps.
#pragma once

#include <string>

#include "simile/train/process_group.h"
#include "simile/train/train_options.h"

namespace simile {

// Errors (kRecipe): what cannot be trained in so many processes: a batch of fewer examples.
void check_shared_options(const TrainOptions& options, int64_t processes);

// Errors (kInput): another recipe or program than rank 0's, with the first keys that differ.
void check_shared_recipe(ProcessGroup& group, const TrainOptions& options);

// A folder for the files of a rank above 0, gone with this object.
class ScratchRun {
 public:
  ScratchRun();
  ~ScratchRun();
  ScratchRun(const ScratchRun&) = delete;
  ScratchRun& operator=(const ScratchRun&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Rank 0 sends what a run in `folder` goes on from, states, kept stages and mined negatives, to the
// others, which write it to theirs. Machines need no file system in common. Errors: kIo.
void send_run(ProcessGroup& group, const std::string& folder);

}  // namespace simile
