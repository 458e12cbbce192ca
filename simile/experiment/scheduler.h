// SPDX-License-Identifier: Apache-2.0
// Does the runs of a list (simile/experiment/planned_run.h), those that are not finished, together
// with other processes that do runs in the same folders: each run is trained by one of them.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "simile/experiment/planned_run.h"
#include "simile/train/selection.h"

namespace simile {

// Passes on what one run of many says: warnings with its label, each of them once for all runs, and
// progress. Its other news would bury those of all.
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

  // complete_run() with RunEvents; warns of a failure. Errors: those of complete_run().
  RunOutcome complete(const PlannedRun& run, bool keep_model);

  // Calls `complete` for the runs 0 .. count - 1, and again for those where it returns false since
  // another process is at them: until there are none (kAwait), or until they do not get fewer.
  void complete_all(size_t count, const std::function<bool(size_t)>& complete, Others others);

  // A moment, in which the user may interrupt.
  void wait() const;

  // Tells each message once.
  void info_once(const std::string& message);

  std::set<std::string>& told() { return told_; }  // for RunEvents

 private:
  EventSink& events_;
  std::set<std::string> told_;
};

}  // namespace simile
