// SPDX-License-Identifier: Apache-2.0
// What the library tells while it works. It never prints: it calls an EventSink, which the command
// line turns into a progress bar, lines or nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simile {

struct Progress {
  std::string task;                                    // "train", "embed", "tokenize"
  int64_t done = 0;                                    // units finished
  int64_t total = 0;                                   // 0 when not known
  std::string unit;                                    // "pairs", "texts", "steps"
  std::vector<std::pair<std::string, double>> values;  // shown beside the bar: loss, epoch ...
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void info(const std::string& /*message*/) {}
  virtual void warning(const std::string& /*message*/) {}
  // May be called often; the sink decides what to show. done == total ends the task.
  virtual void progress(const Progress& /*progress*/) {}
};

// A sink that ignores everything.
EventSink& silent_events();

}  // namespace simile
