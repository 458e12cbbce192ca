// SPDX-License-Identifier: Apache-2.0
#include "simile/experiment/scheduler.h"

#include <fmt/format.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace simile {
namespace {

constexpr auto kPause = std::chrono::milliseconds(200);

}  // namespace

RunOutcome Scheduler::complete(const PlannedRun& run, bool keep_model) {
  RunEvents events(run.label, told_, events_);
  RunOutcome outcome = complete_run(run, keep_model, events);
  if (outcome.state == RunOutcome::State::kFailed) {
    events_.warning(fmt::format("{}: {}", run.label, outcome.error));
  }
  return outcome;
}

void Scheduler::complete_all(size_t count, const std::function<bool(size_t)>& complete,
                             Others others) {
  std::vector<size_t> open(count);
  std::iota(open.begin(), open.end(), size_t{0});
  while (!open.empty()) {
    std::vector<size_t> elsewhere;
    for (const size_t run : open) {
      if (!complete(run)) elsewhere.push_back(run);
    }
    if (others == Others::kSkip && elsewhere.size() == open.size()) return;
    if (others == Others::kAwait && !elsewhere.empty()) wait();
    open = std::move(elsewhere);
  }
}

void Scheduler::wait() const {
  events_.progress({"waiting for another process", 0, 0, "", {}});
  std::this_thread::sleep_for(kPause);
}

void Scheduler::info_once(const std::string& message) {
  if (told_.insert(message).second) events_.info(message);
}

}  // namespace simile
