// SPDX-License-Identifier: Apache-2.0
// Progress on stderr: a bar with rate and time left on a terminal, one line every ten seconds
// otherwise.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "simile/core/error.h"

namespace simile::cli {

// `text` with control characters but line ends and tabs written as \x1b: bytes of a file that a
// message repeats should not move the cursor or change colours.
std::string printable(std::string_view text);

class Terminal : public EventSink {
 public:
  explicit Terminal(bool quiet);
  bool is_quiet() const { return quiet_; }
  void info(const std::string& message) override;
  void warning(const std::string& message) override;
  void progress(const Progress& progress) override;

  // Called at each report of progress, before anything is shown; may throw to stop the work.
  std::function<void()> on_progress;

 private:
  using Clock = std::chrono::steady_clock;
  void clear_bar();
  void print_line(const std::string& line);
  std::string describe(const Progress& progress, double seconds) const;

  bool quiet_;
  bool is_terminal_;
  bool bar_shown_ = false;
  std::string task_;
  int64_t first_done_ = 0;
  Clock::time_point task_start_, last_shown_;
};

}  // namespace simile::cli
