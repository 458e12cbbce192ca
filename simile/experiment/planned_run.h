// SPDX-License-Identifier: Apache-2.0
// One of many trainings, each of which may be finished, begun or new: the tables of `simile
// reproduce` and searches consist of them. A Scheduler does the runs of a list that are not
// finished, together with other processes: each run is trained by one of them.
//
// It trains in `folder` as `simile train` does. Beside that folder FOLDER.json notes what the run
// depends on; a run of another recipe, model or data starts again, a finished one is read, an
// interrupted one continues. States and, unless wanted, the model are removed when it is finished,
// or by the next reader if it was killed before that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/report.h"
#include "simile/experiment/recipe_facts.h"
#include "simile/train/train_options.h"
#include "simile/train/trainer.h"

namespace simile {

struct PlannedRun {
  std::string label;   // for messages
  std::string folder;  // run-N, in a folder of its own kind of runs
  TrainOptions options;
  std::string fingerprint;
  bool with_baselines = true;  // one that has them serves who asks for it without them too
};

struct RunChanges {
  int64_t seed = 1;
  int64_t limit = 0;  // examples of every set, in two epochs, for a quick look; 0: all
  bool with_baselines = true;
  bool with_tests = true;  // without, only those stay that are all that `folds` cuts
};

// How RunChanges::limit is an option.
OptionInfo quick_look_info();

// The training of a finished recipe (finish_recipe()) with a seed. Errors: those of read_options();
// without tests those of apply_folds().
PlannedRun plan_run(const ConfigNode& recipe, const RunChanges& changes, const std::string& folder,
                    const std::string& label, ContentHashes& hashes);

struct RunOutcome {
  enum class State { kNotRun, kRunning, kFailed, kFinished };

  State state = State::kNotRun;
  std::string error;            // kFailed: of the training, or of results that are damaged
  std::vector<Report> reports;  // kFinished: of all models
  bool start_kept = false;      // its model is the one it began with
  bool has_baselines = false;   // kFinished: among its reports
  bool keeps_model = true;      // kFinished: it was asked to
};

// The known outcome of the run, without training.
RunOutcome read_outcome(const PlannedRun& run);

// Held while a process trains in a run's folder, or drops the run. Errors: ErrorKind::kIo.
FileLock lock_run(const std::string& folder);

// Removes what a killed process left of `path`, a file beside a run's folder whose writers hold the
// run's lock, as the caller does.
void remove_half_written(const std::string& path);

// Removes the state of a run that will not be continued. The caller holds its lock.
void abandon_run(const PlannedRun& run);

// Trains it unless it is finished, with baselines if they are wanted. The caller holds the run's
// lock. An error of the training is noted as kFailed. Errors: kInterrupted, kIo.
RunOutcome complete_run(const PlannedRun& run, bool keep_model, const FileLock& lock,
                        EventSink& events);

// Forwards the warnings of one run of many, with its label and each once for all runs, and its
// progress. Its other messages are dropped, because there would be too many.
class RunEvents : public SelectionSink {
 public:
  RunEvents(std::string label, std::set<std::string>& told, EventSink& events)
      : label_(std::move(label)), told_(told), events_(events) {}
  void warning(const std::string& message) override {
    if (told_.insert(message).second) events_.warning(label_ + ": " + message);
  }
  void progress(const Progress& progress) override { events_.progress(progress); }
  void selected(const SelectedValue& /*value*/) override {}

 private:
  std::string label_;
  std::set<std::string>& told_;
  EventSink& events_;
};

class Scheduler {
 public:
  enum class Others { kSkip, kAwait };

  explicit Scheduler(EventSink& events) : events_(events) {}

  // complete_run() with RunEvents; warns of a failure. kRunning: another process is at it.
  RunOutcome complete(const PlannedRun& run, bool keep_model);

  // Calls `complete` for the runs 0 .. count - 1, and again for those where it returns false since
  // another process is at them: until there are none (kAwait), or until they do not get fewer.
  void complete_all(size_t count, const std::function<bool(size_t)>& complete, Others others);

  // Waits a moment, in which the user may interrupt.
  void wait() const;

  // Tells each message once.
  void info_once(const std::string& message);

  std::set<std::string>& told() { return told_; }  // for RunEvents

 private:
  EventSink& events_;
  std::set<std::string> told_;
};

}  // namespace simile
