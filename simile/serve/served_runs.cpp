// SPDX-License-Identifier: Apache-2.0
#include "simile/serve/served_runs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/report/detail/run_format.h"
#include "simile/serve/request_error.h"

namespace simile {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostScanned = 20000;           // folders
constexpr int64_t kMostSettingsBytes = 16 << 20;  // of run.json, of results.json
constexpr size_t kMostKnown = 32;                 // runs whose curves are kept
constexpr double kQuick = 0.2;                    // seconds to read a run; one slower than that
constexpr double kReadingShare = 10;              // is read a tenth of the time at most
constexpr int kReadRetry = 2;                     // seconds

const char* const kRunFiles[] = {run_format::kRecipe, run_format::kLog, run_format::kResults};

// Calls take(path, name) for folders in `folder`, hidden ones left out. Returns why it cannot be
// listed, if it cannot.
template <typename Take>
std::error_code for_each_folder(const std::string& folder, const Take& take) {
  std::error_code code, unknown;
  fs::directory_iterator entries(folder, code);
  int64_t scanned = 0;
  for (; !code && entries != fs::directory_iterator() && scanned < kMostScanned;
       entries.increment(code), ++scanned) {
    const std::string name = entries->path().filename();
    if (name[0] != '.' && entries->is_directory(unknown)) take(entries->path().string(), name);
  }
  return code;
}

// False where the folder has none of a run's files.
bool look_at(const std::string& path, std::time_t now, ListedRun& run) {
  int64_t changed = 0;
  run.finished = false;
  run.version.clear();
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
  std::vector<ListedRun> runs;
  const auto take = [&](const std::string& path, const std::string& name) {
    const size_t before = runs.size();
    for_each_folder(path, [&](const std::string& seed_path, const std::string& seed_name) {
      ListedRun seed;
      seed.name = name + "/" + seed_name;
      if (run_format::seed_folder_number(seed_name) && look_at(seed_path, now, seed))
        runs.push_back(seed);
    });
    ListedRun run;
    run.name = name;
    if (runs.size() == before && look_at(path, now, run)) runs.push_back(run);
  };
  const std::error_code code = for_each_folder(folder, take);
  SIMILE_CHECK(!code, ErrorKind::kIo, "the folder of the runs cannot be listed: " + code.message());
  return runs;
}

void check_size(const std::string& path, int64_t most) {
  std::error_code code;
  const auto size = fs::file_size(path, code);
  SIMILE_CHECK(
      code || size <= static_cast<uintmax_t>(most), ErrorKind::kInput,
      fmt::format("{} has {} bytes; files of more than {} are not read", path, size, most));
}

void thin(std::vector<Curve>& curves) {
  if (curves.size() > kMostCurves) curves.resize(kMostCurves);
  for (Curve& curve : curves) curve.points = thin_curve(curve.points, kCurvePoints);
}

double seconds_since(ServeClock::time_point begin) {
  return std::chrono::duration<double>(ServeClock::now() - begin).count();
}

}  // namespace

ServedRuns::ServedRuns(std::string folder) : folder_(std::move(folder)) {
  SIMILE_CHECK(folder_exists(folder_), ErrorKind::kInput,
               fmt::format("--runs '{}' is not a folder; expected one that holds the folders that "
                           "simile train wrote",
                           folder_));
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

ListedRun ServedRuns::find(const std::string& name) const {
  for (ListedRun& run : find_all(folder_)) {
    if (run.name == name) return std::move(run);
  }
  throw RequestError(Refusal::kNotFound, "there is no such run; /runs lists them");
}

std::unique_lock<std::timed_mutex> ServedRuns::begin_reading(ServeClock::time_point deadline) {
  std::unique_lock<std::timed_mutex> lock(reading_, deadline);
  if (!lock.owns_lock()) {
    throw RequestError(Refusal::kLate, "other runs are still being read; try again later", "",
                       kReadRetry);
  }
  return lock;
}

std::shared_ptr<const RunDetails> ServedRuns::read(const std::string& name,
                                                   ServeClock::time_point deadline) {
  const ListedRun run = find(name);
  const std::unique_lock<std::timed_mutex> lock = begin_reading(deadline);
  const auto found = known_.find(name);
  if (found != known_.end()) {
    const Known& known = found->second;
    const bool is_same = known.details->run.version == run.version;
    const bool is_new = known.seconds > kQuick && known.details->run.finished == run.finished &&
                        seconds_since(known.read_at) < kReadingShare * known.seconds;
    if (is_same || is_new) return known.details;
  }
  const ServeClock::time_point begin = ServeClock::now();
  Known known;
  known.details = read_files(run);
  known.read_at = ServeClock::now();
  known.seconds = seconds_since(begin);
  if (known_.size() >= kMostKnown) {
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
      return a.second.read_at < b.second.read_at;
    }));
  }
  return (known_[name] = std::move(known)).details;
}

std::shared_ptr<const RunDetails> ServedRuns::read_files(const ListedRun& run) const {
  const auto details = std::make_shared<RunDetails>();
  const std::string path = join_path(folder_, run.name);
  details->run = run;
  const auto attempt = [&](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      details->problems.push_back(without_folder(error.what()));
    }
  };
  attempt([&] {
    check_size(join_path(path, run_format::kRecipe), kMostSettingsBytes);
    check_size(join_path(path, run_format::kResults), kMostSettingsBytes);
    std::vector<std::string> problems;
    details->files = read_run_files(path, problems);
    for (std::string& problem : problems) {
      details->problems.push_back(without_folder(std::move(problem)));
    }
  });
  attempt([&] {
    const std::string log = join_path(path, run_format::kLog);
    check_size(log, kMostLogBytes);
    if (file_exists(log)) details->log = read_run_log(log);
  });
  thin(details->log.training);
  thin(details->log.evaluations);
  return details;
}

RunErrors ServedRuns::worst_errors(const std::string& name, ServeClock::time_point deadline) {
  const std::shared_ptr<const RunDetails> details = read(name, deadline);
  const std::unique_lock<std::timed_mutex> lock = begin_reading(deadline);
  RunErrors errors;
  for (const Report& report : details->files.own_reports()) {
    try {
      EvaluationErrors of_report = read_errors(details->files, report);
      if (of_report.predictions.size() > 0) errors.evaluations.push_back(std::move(of_report));
    } catch (const Error& error) {
      errors.problems.push_back(without_folder(error.what()));
    }
  }
  return errors;
}

EvaluationErrors ServedRuns::read_errors(const RunFiles& files, const Report& report) const {
  EvaluationErrors errors;
  errors.report = report;
  const std::string path = files.predictions_of(report);
  if (path.empty()) return errors;
  check_size(report.task == "ranking" ? query_table_file(path) : path, kMostPredictionBytes);
  errors.predictions = read_predictions(path);
  errors.worst = find_worst_errors(errors.predictions, kWorstExamples);
  if (errors.predictions.kind == PredictionKind::kQueries && errors.predictions.size() > 0) {
    errors.metric = error_metric(errors.predictions);
  }
  return errors;
}

// Where the folder lies is nobody's business.
std::string ServedRuns::without_folder(std::string message) const {
  const std::string prefix = join_path(folder_, "");
  for (size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix)) {
    message.erase(at, prefix.size());
  }
  return message;
}

}  // namespace simile
