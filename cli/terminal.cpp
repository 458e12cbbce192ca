// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "simile/text/utf8.h"

namespace simile::cli {
namespace {

constexpr double kBarSeconds = 0.1;    // at most ten bars a second on a terminal
constexpr double kLineSeconds = 10.0;  // a line this often in a log
constexpr int kBarWidth = 24;

std::string show_duration(double seconds) {
  const int64_t whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}m{:02}s", whole / 60, whole % 60);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t control = control_size(text, i);
    if (control == 0 || text[i] == '\n' || text[i] == '\t') {
      out += text[i++];
      continue;
    }
    i += control;  // the code point of U+0080 to U+009F is their last byte
    out += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[i - 1]));
  }
  return out;
}

Terminal::Terminal(bool quiet) : quiet_(quiet), is_terminal_(isatty(STDERR_FILENO) != 0) {}

void Terminal::clear_bar() {
  if (bar_shown_) std::fputs("\r\033[K", stderr);
  bar_shown_ = false;
}

void Terminal::print_line(const std::string& line) {
  clear_bar();
  std::fprintf(stderr, "%s\n", printable(line).c_str());
}

void Terminal::info(const std::string& message) {
  if (!quiet_) print_line(message);
}

void Terminal::warning(const std::string& message) { print_line("warning: " + message); }

void Terminal::progress(const Progress& progress) {
  if (on_progress) on_progress();
  if (quiet_) return;
  const Clock::time_point now = Clock::now();
  const bool starts = progress.task != task_ || progress.done < first_done_;
  if (starts) {
    task_ = progress.task;
    first_done_ = progress.done;
    task_start_ = last_shown_ = now;
  }
  const double since_shown = std::chrono::duration<double>(now - last_shown_).count();
  const bool ends = progress.total > 0 && progress.done >= progress.total;
  if (!ends && since_shown < (is_terminal_ ? kBarSeconds : kLineSeconds)) return;
  last_shown_ = now;
  const double seconds = std::chrono::duration<double>(now - task_start_).count();
  if (ends) task_.clear();
  if (ends && seconds < 1) return clear_bar();
  if (is_terminal_) {
    std::fprintf(stderr, "\r\033[K%s", describe(progress, seconds).c_str());
    if (ends) std::fputc('\n', stderr);
    std::fflush(stderr);
    bar_shown_ = !ends;
  } else {
    print_line(describe(progress, seconds));
  }
}

std::string Terminal::describe(const Progress& progress, double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(progress.done - first_done_) / seconds : 0;
  std::string line = progress.task;
  if (progress.total > 0) {
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    if (is_terminal_) {
      const int filled = static_cast<int>(part * kBarWidth);
      line += fmt::format(" [{}{}]", std::string(static_cast<size_t>(filled), '#'),
                          std::string(static_cast<size_t>(kBarWidth - filled), '.'));
    }
    line += fmt::format(" {:3.0f}%  {}/{} {}", 100 * part, progress.done, progress.total,
                        progress.unit);
    if (rate > 0) {
      line +=
          fmt::format("  {:.0f} {}/s  {} left", rate, progress.unit,
                      show_duration(static_cast<double>(progress.total - progress.done) / rate));
    }
  } else {
    line += fmt::format("  {} {}  {:.0f} {}/s", progress.done, progress.unit, rate, progress.unit);
  }
  for (const auto& [name, value] : progress.values) line += fmt::format("  {} {:.4g}", name, value);
  return line;
}

}  // namespace simile::cli
