// SPDX-License-Identifier: Apache-2.0
#include "simile/report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "simile/core/error.h"
#include "simile/core/file.h"
#include "simile/eval/prediction_metric.h"
#include "simile/eval/predictions.h"
#include "simile/metric/sorted_values.h"
#include "simile/report/detail/compared_runs.h"

namespace simile {
namespace {

constexpr double kConfidence = 0.95;

// One evaluation as both sides have it: a place in each run's reports.
struct Shared {
  std::vector<size_t> a, b;
};

class Comparer {
 public:
  Comparer(ComparedRuns a, ComparedRuns b, const ComparisonOptions& options, EventSink& events)
      : a_(std::move(a)), b_(std::move(b)), options_(options), events_(events) {}

  Comparison compare();

 private:
  void add_warnings();
  bool find_shared(const Report& report, Shared& shared) const;
  std::vector<std::string> shared_metrics(const Shared& shared) const;
  void choose_metrics();
  std::vector<Predictions> read_all(const ComparedRuns& side,
                                    const std::vector<size_t>& places) const;
  ComparedReport compare_report(const Shared& shared, const std::vector<std::string>& metrics);
  ComparedMetric compare_metric(const Shared& shared, const std::string& metric) const;
  void add_interval(const Shared& shared, const std::vector<Predictions>& a,
                    const std::vector<Predictions>& b, ComparedMetric& metric);
  std::vector<Statistic> statistics(const ComparedRuns& side, const std::vector<size_t>& places,
                                    const std::vector<Predictions>& predictions,
                                    const std::string& metric, const std::vector<double>& reported);
  void warn(const std::string& message) {
    std::vector<std::string>& warnings = result_.warnings;
    if (std::find(warnings.begin(), warnings.end(), message) != warnings.end()) return;
    warnings.push_back(message);
    events_.warning(message);
  }

  ComparedRuns a_, b_;
  const ComparisonOptions& options_;
  EventSink& events_;
  Comparison result_;
  std::vector<std::pair<Shared, std::vector<std::string>>> chosen_;
  int64_t done_ = 0, total_ = 0;  // metrics
};

Comparison Comparer::compare() {
  pair_runs(a_, b_);
  result_.a = {a_.path, a_.runs.size(), a_.has_folds(), seeds_of(a_)};
  result_.b = {b_.path, b_.runs.size(), b_.has_folds(), seeds_of(b_)};
  result_.options = options_;
  add_warnings();
  choose_metrics();
  for (const auto& [shared, metrics] : chosen_) total_ += static_cast<int64_t>(metrics.size());
  for (const auto& [shared, metrics] : chosen_) {
    result_.reports.push_back(compare_report(shared, metrics));
  }
  return std::move(result_);
}

void Comparer::add_warnings() {
  if (a_.is_file) return;
  for (const ComparedRuns* side : {&a_, &b_}) {
    const auto kept = std::count_if(side->runs.begin(), side->runs.end(),
                                    [](const ComparedRuns::Run& run) { return run.start_kept; });
    if (kept > 0) {
      warn(
          fmt::format("'{}': {} of {} runs kept the weights before the first step, so its figures "
                      "are those of the start; its results.json tells the likely causes",
                      side->path, kept, side->runs.size()));
    }
    if (side->runs.size() > 1) continue;
    warn(
        fmt::format("'{}' is one run with one seed: another seed may well change more than the "
                    "difference shown; train both with `runs: 5` to test it",
                    side->path));
  }
}

bool Comparer::find_shared(const Report& report, Shared& shared) const {
  for (const auto& [side, places] :
       {std::make_pair(&a_, &shared.a), std::make_pair(&b_, &shared.b)}) {
    for (const ComparedRuns::Run& run : side->runs) {
      places->push_back(find_report(run, report));
      if (places->back() == run.reports.size()) return false;
    }
  }
  return true;
}

std::vector<std::string> Comparer::shared_metrics(const Shared& shared) const {
  const auto has = [](const ComparedRuns& side, const std::vector<size_t>& places,
                      const std::string& metric) {
    for (size_t r = 0; r < places.size(); ++r) {
      if (side.runs[r].reports[places[r]].find_metric(metric) == nullptr) return false;
    }
    return true;
  };
  std::vector<std::string> names;
  for (const auto& [name, value] : a_.runs[0].reports[shared.a[0]].metrics) {
    if (name.find("threshold") == std::string::npos && has(a_, shared.a, name) &&
        has(b_, shared.b, name)) {
      names.push_back(name);
    }
  }
  return names;
}

// Fills chosen_; every metric asked for must be found.
void Comparer::choose_metrics() {
  std::vector<std::string> known, missing = options_.metrics;
  for (const Report& report : a_.runs[0].reports) {
    Shared shared;
    if (!find_shared(report, shared)) continue;
    std::vector<std::string> chosen;
    for (const std::string& metric : shared_metrics(shared)) {
      const std::string full = report.name.empty() ? metric : report.name + "." + metric;
      known.push_back(full);
      bool wanted = options_.metrics.empty();
      for (const std::string& name : options_.metrics) {
        if (name != full && name != metric) continue;
        wanted = true;
        missing.erase(std::remove(missing.begin(), missing.end(), name), missing.end());
      }
      if (wanted) chosen.push_back(metric);
    }
    if (!chosen.empty()) chosen_.emplace_back(shared, chosen);
  }
  SIMILE_CHECK(!known.empty(), ErrorKind::kInput,
               fmt::format("'{}' and '{}' have no evaluation in common: their names and tasks must "
                           "be the same",
                           a_.path, b_.path));
  if (missing.empty()) return;
  const std::string nearest = nearest_name(missing[0], known);
  throw Error(ErrorKind::kUsage,
              fmt::format("--metric: there is no '{}' on both sides{}; there are {}", missing[0],
                          nearest.empty() ? "" : "; did you mean '" + nearest + "'?",
                          fmt::join(known, ", ")));
}

// The predictions of every run, or none when one of them is missing.
std::vector<Predictions> Comparer::read_all(const ComparedRuns& side,
                                            const std::vector<size_t>& places) const {
  std::vector<Predictions> all;
  size_t first = 0;  // of the same fold
  for (size_t r = 0; r < places.size(); ++r) {
    const std::string& path = side.runs[r].predictions[places[r]];
    if (path.empty()) return {};
    all.push_back(read_predictions(path));
    if (side.runs[r].fold != side.runs[first].fold) first = r;
    check_same_examples(all[first], all[r]);
  }
  return all;
}

ComparedReport Comparer::compare_report(const Shared& shared,
                                        const std::vector<std::string>& metrics) {
  const Report& report = a_.runs[0].reports[shared.a[0]];
  ComparedReport compared;
  compared.task = report.task;
  compared.name = report.name;
  compared.examples = report.examples;
  for (size_t r = 1; r < a_.runs.size(); ++r) {
    if (a_.runs[r].fold == a_.runs[r - 1].fold) continue;
    compared.examples += a_.runs[r].reports[shared.a[r]].examples;
  }
  const std::vector<Predictions> a = read_all(a_, shared.a), b = read_all(b_, shared.b);
  for (const auto& [side, predictions] : {std::make_pair(&a_, &a), std::make_pair(&b_, &b)}) {
    if (!predictions->empty()) continue;
    warn(fmt::format("'{}' has no predictions of '{}': no interval over its examples", side->path,
                     report.name.empty() ? report.task : report.name));
  }
  if (!a.empty() && !b.empty()) {
    check_same_examples(a.front(), b.front());
    for (size_t r = 1; a_.has_folds() && r < a.size(); ++r) check_same_examples(a[r], b[r]);
  }
  for (const std::string& name : metrics) {
    ComparedMetric metric = compare_metric(shared, name);
    if (!a.empty() && !b.empty()) add_interval(shared, a, b, metric);
    compared.metrics.push_back(std::move(metric));
    events_.progress({"compare", ++done_, total_, "metrics", {}});
  }
  return compared;
}

ComparedMetric Comparer::compare_metric(const Shared& shared, const std::string& name) const {
  ComparedMetric metric;
  metric.name = name;
  for (size_t r = 0; r < a_.runs.size(); ++r) {
    metric.a_values.push_back(*a_.runs[r].reports[shared.a[r]].find_metric(name));
  }
  for (size_t r = 0; r < b_.runs.size(); ++r) {
    metric.b_values.push_back(*b_.runs[r].reports[shared.b[r]].find_metric(name));
  }
  metric.a = measure_spread(metric.a_values);
  metric.b = measure_spread(metric.b_values);
  metric.difference = metric.b.mean - metric.a.mean;
  if (metric.a_values.size() < 2 || metric.b_values.size() < 2) return metric;
  metric.t_test = paired_t_test(metric.a_values, metric.b_values);
  metric.permutation = paired_permutation_test(metric.a_values, metric.b_values, options_.samples,
                                               static_cast<uint64_t>(options_.seed));
  return metric;
}

// One statistic per run, or none when the metric cannot be computed from the predictions.
std::vector<Statistic> Comparer::statistics(const ComparedRuns& side,
                                            const std::vector<size_t>& places,
                                            const std::vector<Predictions>& predictions,
                                            const std::string& metric,
                                            const std::vector<double>& reported) {
  std::vector<Statistic> statistics;
  for (size_t r = 0; r < predictions.size(); ++r) {
    const Statistic statistic =
        make_statistic(predictions[r], metric, &side.runs[r].reports[places[r]]);
    if (!statistic) return {};
    if (!gives_reported(statistic, predictions[r], reported[r])) {
      const double found = statistic(all_positions(predictions[r].left.size()));
      warn(
          fmt::format("{}: {} of the predictions is {:.4f}, but {:.4f} was reported: they are of "
                      "another evaluation; no interval over examples",
                      predictions[r].path, metric, found, reported[r]));
      return {};
    }
    statistics.push_back(statistic);
  }
  return statistics;
}

// Runs that were tested on the same examples, one after the other: those of one fold, or all.
struct RunGroup {
  size_t begin = 0, end = 0;
};

std::vector<RunGroup> group_by_fold(const ComparedRuns& side) {
  std::vector<RunGroup> groups;
  for (size_t r = 0; r < side.runs.size(); ++r) {
    if (groups.empty() || side.runs[groups.back().begin].fold != side.runs[r].fold) {
      groups.push_back({r, r});
    }
    ++groups.back().end;
  }
  return groups;
}

// The examples of all folds, each counted once, however many seeds it was tested under.
int64_t count_examples(const std::vector<RunGroup>& folds,
                       const std::vector<Predictions>& predictions) {
  int64_t examples = 0;
  for (const RunGroup& fold : folds) examples += predictions[fold.begin].size();
  return examples;
}

// Numbers of examples of all folds, one after the other, as positions within each.
std::vector<std::vector<int64_t>> split_by_fold(const std::vector<int64_t>& positions,
                                                const std::vector<RunGroup>& folds,
                                                const std::vector<Predictions>& predictions) {
  std::vector<std::vector<int64_t>> split(folds.size());
  for (int64_t position : positions) {
    size_t f = 0;
    for (; position >= predictions[folds[f].begin].size(); ++f) {
      position -= predictions[folds[f].begin].size();
    }
    split[f].push_back(position);
  }
  return split;
}

// Of each fold's positions, which all its runs share, the mean over the runs; of that the mean over
// the folds that have any.
double mean_over_folds(const std::vector<Statistic>& statistics, const std::vector<RunGroup>& folds,
                       const std::vector<std::vector<int64_t>>& positions) {
  double sum = 0;
  int64_t count = 0;
  for (size_t f = 0; f < folds.size(); ++f) {
    if (positions[f].empty()) continue;
    double of_fold = 0;
    for (size_t r = folds[f].begin; r < folds[f].end; ++r) of_fold += statistics[r](positions[f]);
    sum += of_fold / static_cast<double>(folds[f].end - folds[f].begin);
    ++count;
  }
  return sum / static_cast<double>(count);
}

void Comparer::add_interval(const Shared& shared, const std::vector<Predictions>& a,
                            const std::vector<Predictions>& b, ComparedMetric& metric) {
  const std::vector<Statistic> of_a = statistics(a_, shared.a, a, metric.name, metric.a_values);
  const std::vector<Statistic> of_b = statistics(b_, shared.b, b, metric.name, metric.b_values);
  if (of_a.empty() || of_b.empty()) return;
  const std::vector<RunGroup> a_folds = group_by_fold(a_), b_folds = group_by_fold(b_);
  metric.interval = bootstrap_interval(
      count_examples(a_folds, a),
      [&](const std::vector<int64_t>& positions) {
        const std::vector<std::vector<int64_t>> split = split_by_fold(positions, a_folds, a);
        return mean_over_folds(of_b, b_folds, split) - mean_over_folds(of_a, a_folds, split);
      },
      kConfidence, options_.samples, static_cast<uint64_t>(options_.seed));
}

ComparedRuns read_chosen_runs(const ChosenRuns& chosen) {
  ComparedRuns side;
  side.path = chosen.name;
  for (const std::string& folder : chosen.folders) {
    ComparedRuns one = read_compared_runs(folder);
    std::move(one.runs.begin(), one.runs.end(), std::back_inserter(side.runs));
  }
  return side;
}

}  // namespace

Comparison compare_runs(const std::string& a, const std::string& b,
                        const ComparisonOptions& options, EventSink& events) {
  return Comparer(read_compared_runs(a), read_compared_runs(b), options, events).compare();
}

Comparison compare_runs(const ChosenRuns& a, const ChosenRuns& b, const ComparisonOptions& options,
                        EventSink& events) {
  return Comparer(read_chosen_runs(a), read_chosen_runs(b), options, events).compare();
}

}  // namespace simile
