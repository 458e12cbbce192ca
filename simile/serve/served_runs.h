// SPDX-License-Identifier: Apache-2.0
// The training runs in one folder, for people who look at them: those that go on too. A run is a
// folder in it that `simile train` wrote, named as it is ("faq"); of several seeds each is one
// ("faq/run-1").
//
// A name that a client gives is looked for among those that the folder has, and never made into a
// path. Files that are damaged or only half there are told, and the others shown. Methods may be
// called by any number of threads; one at a time reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simile/eval/predictions.h"
#include "simile/report/run_files.h"
#include "simile/report/run_log.h"
#include "simile/report/worst_errors.h"
#include "simile/serve/batching_worker.h"

namespace simile {

constexpr int64_t kMostRuns = 500;                   // listed
constexpr int64_t kCurvePoints = 1000;               // about so many of a curve, see thin_curve()
constexpr int64_t kMostCurves = 200;                 // of training, and of evaluations
constexpr int64_t kWorstExamples = 20;               // of an evaluation
constexpr int64_t kExampleLength = 500;              // characters of a text
constexpr int64_t kMostLogBytes = 128 << 20;         // of a metrics.jsonl
constexpr int64_t kMostPredictionBytes = 128 << 20;  // of a file of predictions

struct ListedRun {
  std::string name;
  std::string version;      // another one as soon as its files change
  bool finished = false;    // it has results
  int64_t seconds_ago = 0;  // when it last changed
};

struct RunListing {
  std::vector<ListedRun> runs;  // those changed last first
  int64_t left_out = 0;         // beyond kMostRuns
};

struct RunDetails {
  ListedRun run;
  RunFiles files;
  RunLog log;
  std::vector<std::string> problems;  // what cannot be read, and why; paths from the folder on
};

struct EvaluationErrors {
  Report report;  // of which the predictions are
  Predictions predictions;
  size_t metric = 0;  // of queries: the column that is gone by
  std::vector<WorstError> worst;
};

struct RunErrors {
  std::vector<EvaluationErrors> evaluations;
  std::vector<std::string> problems;
};

class ServedRuns {
 public:
  // Errors (kInput): no folder.
  explicit ServedRuns(std::string folder);

  // Errors (kIo): the folder cannot be listed.
  RunListing list() const;

  // What is known of a run: of a log that takes long to read, as it was a while ago. Errors
  // (RequestError): kNotFound; kLate where others are read until `deadline`.
  std::shared_ptr<const RunDetails> read(const std::string& name, ServeClock::time_point deadline);

  // The predictions that are furthest from right. Errors as read().
  RunErrors worst_errors(const std::string& name, ServeClock::time_point deadline);

 private:
  struct Known {
    std::shared_ptr<const RunDetails> details;
    ServeClock::time_point read_at;
    double seconds = 0;  // that reading took
  };

  ListedRun find(const std::string& name) const;
  std::unique_lock<std::timed_mutex> begin_reading(ServeClock::time_point deadline);
  std::shared_ptr<const RunDetails> read_files(const ListedRun& run) const;
  EvaluationErrors read_errors(const RunFiles& files, const Report& report) const;
  std::string without_folder(std::string message) const;

  const std::string folder_;
  std::timed_mutex reading_;
  std::map<std::string, Known> known_;  // guarded by reading_
};

}  // namespace simile
