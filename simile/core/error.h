// SPDX-License-Identifier: Apache-2.0
// How the library reports to its caller: the one error type, and events. It never prints or exits.
//
// Every failure is thrown as simile::Error. The message says what is wrong, where (file, line,
// key), what was expected, what was found, and what to do about it. The command line turns a kind
// into an exit code with exit_code().
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace simile {

enum class ErrorKind {
  kUsage,        // bad command-line arguments
  kRecipe,       // a recipe or option that cannot be used
  kInput,        // a data, model or index file that cannot be used
  kIo,           // the system refused: disk full, no permission
  kFailed,       // the work itself failed: a loss that is not finite, a check that does not hold
  kInterrupted,  // a signal asked to stop; everything was saved
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// 2 for usage and recipe, 3 for input, 1 for the rest (a signal's code is 128 + its number, which
// only the command line knows).
int exit_code(ErrorKind kind);

// Number of single-character insertions, deletions and replacements between the two.
int edit_distance(const std::string& a, const std::string& b);

// The name closest to `name` by edit distance, or an empty string when none is near enough to be
// meant. Used in "unknown key" messages.
template <typename Names>
std::string nearest_name(const std::string& name, const Names& names) {
  std::string best;
  int best_distance = static_cast<int>(name.size()) / 3 + 2;
  for (const auto& candidate : names) {
    const int distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

// " (did you mean 'NAME'?)" with the nearest of `names`, or an empty string; for messages about an
// unknown `name`.
template <typename Names>
std::string did_you_mean(const std::string& name, const Names& names) {
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : " (did you mean '" + nearest + "'?)";
}

struct Progress {
  std::string task;                                    // "train", "embed", "tokenize"
  int64_t done = 0;                                    // units finished
  int64_t total = 0;                                   // 0 when not known
  std::string unit;                                    // "pairs", "texts", "steps"
  std::vector<std::pair<std::string, double>> values;  // shown beside the bar: loss, epoch ...
};

// Receives messages and progress while the library works. The command line turns them into a
// progress bar, lines or nothing.
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
