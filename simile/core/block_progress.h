// SPDX-License-Identifier: Apache-2.0
// Progress of work done in blocks, each of which reports its own: shown as one task, with the
// progress of earlier blocks added. Hence a sink that throws stops the work inside a block too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "simile/core/error.h"

namespace simile {

class BlockProgress : public EventSink {
 public:
  // `task`, `total` and `unit` as in Progress.
  BlockProgress(EventSink& events, const std::string& task, int64_t total, const std::string& unit)
      : events_(events), task_(task), total_(total), unit_(unit) {}

  // Begins a block of `units` units, whatever its own progress counts.
  void begin_block(int64_t units) { units_ = units; }

  void progress(const Progress& of_block) override {
    int64_t done = of_block.done;
    if (units_ > 0) done = of_block.total == 0 ? 0 : units_ * done / of_block.total;
    const bool ends = of_block.done == of_block.total;
    // A total that was estimated is not reached before the end.
    const int64_t total = total_ > 0 ? std::max(total_, done_ + done + (ends ? 0 : 1)) : 0;
    events_.progress({task_, done_ + done, total, unit_, of_block.values});
    if (ends) done_ += std::exchange(units_, 0) > 0 ? done : of_block.total;
  }

 private:
  EventSink& events_;
  std::string task_;
  int64_t total_;
  std::string unit_;
  int64_t done_ = 0;   // in finished blocks
  int64_t units_ = 0;  // of this block; 0: as many as its own progress counts
};

}  // namespace simile
