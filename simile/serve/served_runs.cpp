// SPDX-License-Identifier: Apache-2.0
// The runs, and the routes /runs.
#include "simile/serve/served_runs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "simile/core/check.h"
#include "simile/core/file.h"
#include "simile/report/comparison.h"
#include "simile/report/run_files.h"
#include "simile/serve/detail/route_row.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostSettingsBytes = 16 << 20;  // of run.json, of results.json
constexpr size_t kMostKnown = 32;                 // runs whose curves are kept
constexpr int kReadRetry = 2;                     // seconds

const char* const kRunFiles[] = {run_format::kRecipe, run_format::kLog, run_format::kResults};

// False where the folder has none of a run's files.
bool look_at(const std::string& path, std::time_t now, ListedRun& run) {
  int64_t changed = 0;
  for (const char* file : kRunFiles) {
    struct stat status = {};
    const bool there = stat(join_path(path, file).c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (!there) continue;
    changed = std::max<int64_t>(changed, status.st_mtim.tv_sec);
    run.finished |= file == kRunFiles[2];
    run.version += fmt::format("{}{:x}.{:x}.{:x}", run.version.empty() ? "" : "-", status.st_size,
                               status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  run.seconds_ago = std::max<int64_t>(0, now - changed);
  return !run.version.empty();
}

std::vector<ListedRun> find_all(const std::string& folder) {
  const std::time_t now = std::time(nullptr);
  std::vector<FoundRuns> found;
  try {
    found = find_runs(folder);
  } catch (const Error&) {  // clients are not told where the folder is
    throw Error(ErrorKind::kIo, "the folder of the runs cannot be listed");
  }
  std::vector<ListedRun> runs;
  for (const FoundRuns& set : found) {
    for (const std::string& name : set.runs) {
      ListedRun run;
      run.name = name;
      if (look_at(join_path(folder, name), now, run)) runs.push_back(std::move(run));
    }
  }
  return runs;
}

void check_size(const std::string& path, int64_t most) {
  std::error_code code;
  const auto size = fs::file_size(path, code);
  SIMILE_CHECK(code || size <= static_cast<uintmax_t>(most), ErrorKind::kInput,
               "{} has {} bytes; files of more than {} are not read", path, size, most);
}

}  // namespace

ServedRuns::ServedRuns(std::string folder) : folder_(std::move(folder)) {
  SIMILE_CHECK(
      folder_exists(folder_), ErrorKind::kInput,
      "--runs '{}' is not a folder; expected one that holds the folders that simile train wrote",
      folder_);
}

RunListing ServedRuns::list() const {
  RunListing listing;
  listing.runs = find_all(folder_);
  std::sort(listing.runs.begin(), listing.runs.end(), [](const ListedRun& a, const ListedRun& b) {
    return std::tie(a.seconds_ago, a.name) < std::tie(b.seconds_ago, b.name);
  });
  if (listing.runs.size() > kMostRuns) {
    listing.left_out = static_cast<int64_t>(listing.runs.size()) - kMostRuns;
    listing.runs.resize(kMostRuns);
  }
  return listing;
}

std::unique_lock<std::timed_mutex> ServedRuns::begin_reading(ServeClock::time_point deadline) {
  std::unique_lock<std::timed_mutex> lock(reading_, deadline);
  SIMILE_REQUEST_CHECK(lock.owns_lock(), Refusal::kLate,
                       "other runs are still being read; try again later", "", kReadRetry);
  return lock;
}

std::shared_ptr<const RunDetails> ServedRuns::read(const std::string& name,
                                                   ServeClock::time_point deadline) {
  const std::vector<ListedRun> runs = find_all(folder_);
  const auto run = std::find_if(runs.begin(), runs.end(),
                                [&](const ListedRun& other) { return other.name == name; });
  SIMILE_REQUEST_CHECK(run != runs.end(), Refusal::kNotFound,
                       "there is no such run; /runs lists them");
  const std::unique_lock<std::timed_mutex> lock = begin_reading(deadline);
  const auto found = known_.find(name);
  if (found != known_.end() && found->second->run.version == run->version) return found->second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_[name] = read_files(*run);
}

std::shared_ptr<const RunDetails> ServedRuns::read_files(const ListedRun& run) const {
  const auto details = std::make_shared<RunDetails>();
  const std::string path = join_path(folder_, run.name);
  details->run = run;
  const auto attempt = [&](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      details->problems.emplace_back(error.what());
    }
  };
  attempt([&] {
    check_size(join_path(path, run_format::kRecipe), kMostSettingsBytes);
    check_size(join_path(path, run_format::kResults), kMostSettingsBytes);
    details->files = read_run_files(path, &details->problems);
  });
  attempt([&] {
    const std::string log = join_path(path, run_format::kLog);
    check_size(log, kMostLogBytes);
    if (file_exists(log)) details->log = read_run_log(log);
  });
  for (std::string& problem : details->problems) problem = without_folder(problem);
  for (std::vector<Curve>* curves : {&details->log.training, &details->log.evaluations}) {
    if (curves->size() > kMostCurves) curves->resize(kMostCurves);
    for (Curve& curve : *curves) curve.points = thin_curve(curve.points, kCurvePoints);
  }
  return details;
}

std::string ServedRuns::report(const std::vector<std::string>& names,
                               const HtmlReportOptions& options, ServeClock::time_point deadline) {
  std::vector<ShownRun> runs;
  for (const std::string& name : names) {
    const std::shared_ptr<const RunDetails> details = read(name, deadline);
    const RunFiles& files = details->files;
    runs.push_back({{name, name, {files}, files.verdict}, {details->log}, details->problems});
  }
  const std::unique_lock<std::timed_mutex> lock = begin_reading(deadline);
  PredictionReader reader;
  if (options.errors > 0) {
    reader = [this](const std::string& path, std::string& problem) {
      return read_predictions(path, problem);
    };
  }
  return html_report(std::move(runs), options, reader);
}

RunDifferences ServedRuns::compare(const std::string& a, const std::string& b,
                                   ServeClock::time_point deadline) {
  for (const std::string& name : {a, b}) read(name, deadline);
  const std::unique_lock<std::timed_mutex> lock = begin_reading(deadline);
  RunDifferences shown;
  try {
    for (const std::string& name : {a, b}) {
      const std::string folder = join_path(join_path(folder_, name), run_format::kPredictions);
      if (!folder_exists(folder)) continue;
      for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder)) {
        if (file.is_regular_file()) check_size(file.path(), kMostPredictionBytes);
      }
    }
    ComparisonOptions options;
    options.samples = kComparedSamples;
    Comparison compared = compare_runs({a, {join_path(folder_, a)}}, {b, {join_path(folder_, b)}},
                                       options, silent_events());
    for (const ComparedReport& report : compared.reports) {
      RunDifferences::Evaluation& evaluation =
          shown.evaluations.emplace_back(RunDifferences::Evaluation{
              report.name.empty() ? report.task : report.name, report.task, report.examples, {}});
      for (const ComparedMetric& metric : report.metrics) {
        RunDifferences::Metric& one =
            evaluation.metrics.emplace_back(RunDifferences::Metric{metric.name,
                                                                   is_fraction(metric.name),
                                                                   metric.a.mean,
                                                                   metric.b.mean,
                                                                   metric.difference,
                                                                   {},
                                                                   {}});
        if (!metric.interval) continue;
        one.low = metric.interval->low;
        one.high = metric.interval->high;
      }
    }
    for (const std::string& warning : compared.warnings) {
      shown.warnings.push_back(without_folder(warning));
    }
  } catch (const Error& error) {
    throw RequestError(Refusal::kInvalid, without_folder(error.what()), "b");
  }
  return shown;
}

Predictions ServedRuns::read_predictions(const std::string& path, std::string& problem) const {
  try {
    const std::string queries = query_table_file(path);
    check_size(file_exists(queries) ? queries : path, kMostPredictionBytes);
    return simile::read_predictions(path);
  } catch (const Error& error) {
    problem = without_folder(error.what());
    return {};
  }
}

// Hides the folder's path from clients.
std::string ServedRuns::without_folder(std::string message) const {
  const std::string prefix = join_path(folder_, "");
  for (size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix)) {
    message.erase(at, prefix.size());
  }
  return message;
}

}  // namespace simile

namespace simile::detail {
namespace {

struct RunReportRequest : HtmlReportOptions {
  std::vector<std::string> runs;
  void visit(OptionVisitor& v) {
    v.field("runs", runs, OptionInfo{"Names of runs"}.required().one_or_more());
    HtmlReportOptions::visit(v);
  }
};

struct RunDifferencesRequest {
  std::string a, b;
  void visit(OptionVisitor& v) {
    v.field("a", a, OptionInfo{"Name of a run"}.required());
    v.field("b", b, OptionInfo{"Name of the run that is compared with it"}.required());
  }
};

ServedRuns& runs_of(const Engine& engine) {
  SIMILE_REQUEST_CHECK(engine.model().runs != nullptr, Refusal::kModelCannot,
                       "the server shows no runs; it was started without --runs");
  return *engine.model().runs;
}

Reply report_reply(const Engine& engine, const RouteCall& call,
                   const std::vector<std::string>& names, const HtmlReportOptions& options) {
  return {200,
          runs_of(engine).report(names, options, call.patience.deadline),
          "text/html; charset=utf-8",
          {{"Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"},
           {"X-Content-Type-Options", "nosniff"}}};
}

RunListing answer_runs(const Engine& engine, const RouteCall&) { return runs_of(engine).list(); }

Reply answer_run(const Engine& engine, const RouteCall& call) {
  return report_reply(engine, call, {call.name}, {});
}

Reply answer_run_report(const Engine& engine, const RouteCall& call,
                        const RunReportRequest& request) {
  const auto count = static_cast<int64_t>(request.runs.size());
  SIMILE_REQUEST_CHECK(
      count <= kMostReported, Refusal::kTooManyInputs,
      fmt::format("\"runs\" has {} texts; a request may have {}", count, kMostReported), "runs");
  return report_reply(engine, call, request.runs, request);
}

RunDifferences answer_run_differences(const Engine& engine, const RouteCall& call,
                                      const RunDifferencesRequest& request) {
  return runs_of(engine).compare(request.a, request.b, call.patience.deadline);
}

}  // namespace

std::vector<Route> run_routes() {
  const std::vector<Refusal> refusals = {Refusal::kModelCannot, Refusal::kNotFound};
  return {
      route("listRuns", "GET", "/runs",
            "The training runs, those changed last first, and whether they are finished (with "
            "--runs)",
            answer_runs, {Refusal::kModelCannot}),
      route("getRun", "GET", "/runs/{name}",
            "The HTML report of a run as far as it has come, that of `simile report`, with files "
            "that cannot be read (with --runs)",
            answer_run, refusals),
      route("reportRuns", "POST", "/runs", "The HTML report of several runs, up to 8 (with --runs)",
            answer_run_report, refusals),
      route("compareRuns", "POST", "/runs/differences",
            "The difference of two runs in each metric that both have, with its 95 % interval over "
            "the examples, as `simile compare` (with --runs)",
            answer_run_differences, refusals)};
}

}  // namespace simile::detail
