// SPDX-License-Identifier: Apache-2.0
// The training runs in a folder, at any depth (find_runs()), also while they go on. A run is named
// by its folders: "faq", "table/row/set"; each of several seeds is a run ("faq/run-1").
//
// A name that a client gives is looked up among those that were found, and never made into a path.
// The report names files that are damaged or too large, and shows the others. Methods may be called
// by any number of threads; one at a time reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "simile/report/html_report.h"
#include "simile/serve/batching_worker.h"

namespace simile {

constexpr int64_t kMostRuns = 500;                   // listed, those changed last first
constexpr int64_t kMostReported = 8;                 // in one report
constexpr int64_t kCurvePoints = 1000;               // about so many of a curve, see thin_curve()
constexpr int64_t kMostCurves = 200;                 // of training, and of evaluations
constexpr int64_t kMostLogBytes = 128 << 20;         // of a metrics.jsonl
constexpr int64_t kMostPredictionBytes = 128 << 20;  // of a file of predictions
constexpr int64_t kComparedSamples = 1000;           // of a bootstrap

struct ListedRun {
  std::string name, version;
  bool finished = false;
  int64_t seconds_ago = 0;
  void visit(OptionVisitor& v) {
    v.required("name", name);
    v.required("version", version, "Another one when its files change");
    v.required("finished", finished, "Whether it has results");
    v.required("seconds_ago", seconds_ago, "When it last changed");
  }
};

struct RunListing {
  std::vector<ListedRun> runs;
  int64_t left_out = 0;
  void visit(OptionVisitor& v) {
    v.required("runs", runs, "Those changed last first");
    v.required("left_out", left_out, "Runs beyond the first 500");
  }
};

// The difference B - A of two runs in each metric that both have, see simile/report/comparison.h.
struct RunDifferences {
  struct Metric {
    std::string name;
    bool is_fraction = false;
    double a = 0, b = 0, difference = 0;
    std::optional<double> low, high;
    void visit(OptionVisitor& v) {
      v.required("name", name);
      v.required("is_fraction", is_fraction, "People see it x 100");
      v.required("a", a);
      v.required("b", b);
      v.required("difference", difference, "b - a");
      v.field("low", low, {"Where its 95 % interval over the examples begins"});
      v.field("high", high, {"Where it ends; none without predictions"});
    }
  };
  struct Evaluation {
    std::string name, task;
    int64_t examples = 0;
    std::vector<Metric> metrics;
    void visit(OptionVisitor& v) {
      v.required("name", name);
      v.required("task", task);
      v.required("examples", examples);
      v.required("metrics", metrics);
    }
  };
  std::vector<Evaluation> evaluations;
  std::vector<std::string> warnings;
  void visit(OptionVisitor& v) {
    v.required("evaluations", evaluations);
    v.required("warnings", warnings);
  }
};

struct RunDetails {
  ListedRun run;
  RunFiles files;
  RunLog log;
  std::vector<std::string> problems;  // what cannot be read, and why; paths from the folder on
};

class ServedRuns {
 public:
  // Errors (kInput): no folder.
  explicit ServedRuns(std::string folder);

  // Errors (kIo): the folder cannot be listed.
  RunListing list() const;

  // The details in the files of a run. Errors (RequestError): kNotFound; kLate if other runs are
  // being read until `deadline`.
  std::shared_ptr<const RunDetails> read(const std::string& name, ServeClock::time_point deadline);

  // The HTML report of such runs, at most kMostReported of them; without worst errors and lengths
  // of texts for `errors: 0`. Errors as read().
  std::string report(const std::vector<std::string>& names, const HtmlReportOptions& options,
                     ServeClock::time_point deadline);

  // Errors as read(); kInvalid for runs that cannot be compared, with the reason.
  RunDifferences compare(const std::string& a, const std::string& b,
                         ServeClock::time_point deadline);

 private:
  std::unique_lock<std::timed_mutex> begin_reading(ServeClock::time_point deadline);
  std::shared_ptr<const RunDetails> read_files(const ListedRun& run) const;
  Predictions read_predictions(const std::string& path, std::string& problem) const;
  std::string without_folder(std::string message) const;

  const std::string folder_;
  std::timed_mutex reading_;
  // Read last; guarded by reading_.
  std::map<std::string, std::shared_ptr<const RunDetails>> known_;
};

}  // namespace simile
