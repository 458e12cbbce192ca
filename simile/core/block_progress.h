// SPDX-License-Identifier: Apache-2.0
// Progress of work done in blocks, each of which reports its own: shown as one task, with what was
// done in earlier blocks added. Hence a sink that throws stops the work inside a block too.
#pragma once

#include <cstdint>
#include <string>

#include "simile/core/error.h"

namespace simile {

class BlockProgress : public EventSink {
 public:
  // `task`, `total` and `unit` as in Progress.
  BlockProgress(EventSink& events, const std::string& task, int64_t total, const std::string& unit)
      : events_(events), task_(task), total_(total), unit_(unit) {}

  void progress(const Progress& of_block) override {
    events_.progress({task_, done_ + of_block.done, total_, unit_, of_block.values});
    if (of_block.done == of_block.total) done_ += of_block.total;
  }

 private:
  EventSink& events_;
  std::string task_;
  int64_t total_;
  std::string unit_;
  int64_t done_ = 0;  // in finished blocks
};

}  // namespace simile
