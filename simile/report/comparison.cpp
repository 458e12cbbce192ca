// SPDX-License-Identifier: Apache-2.0
#include "simile/report/comparison.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "simile/core/check.h"
#include "simile/core/text_table.h"
#include "simile/eval/predictions.h"
#include "simile/report/detail/compared_runs.h"

namespace simile {
namespace {

// One evaluation as both sides have it: the report of each run.
struct Shared {
  std::vector<const Report*> a, b;
};

class Comparer {
 public:
  Comparer(ComparedRuns a, ComparedRuns b, const ComparisonOptions& options, EventSink& events)
      : a_(std::move(a)), b_(std::move(b)), options_(options), events_(events) {}

  Comparison compare() {
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

 private:
  void add_warnings() {
    if (a_.is_file) return;
    for (const ComparedRuns* side : {&a_, &b_}) {
      const auto kept =
          std::count_if(side->runs.begin(), side->runs.end(),
                        [](const RunFiles& run) { return run.verdict.start_kept > 0; });
      if (kept > 0) {
        warn(fmt::format(
            "'{}': {} of {} runs kept the weights before the first step, so its figures "
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

  bool find_shared(const Report& report, Shared& shared) const {
    for (const auto& [side, reports] :
         {std::make_pair(&a_, &shared.a), std::make_pair(&b_, &shared.b)}) {
      for (const RunFiles& run : side->runs) {
        reports->push_back(find_report(run, report));
        if (reports->back() == nullptr) return false;
      }
    }
    return true;
  }

  std::vector<std::string> shared_metrics(const Shared& shared) const {
    const auto have = [](const std::vector<const Report*>& reports, const std::string& metric) {
      return std::all_of(reports.begin(), reports.end(), [&](const Report* report) {
        return report->find_metric(metric) != nullptr;
      });
    };
    std::vector<std::string> names;
    for (const auto& [name, value] : shared.a[0]->metrics) {
      if (name.find("threshold") == std::string::npos && have(shared.a, name) &&
          have(shared.b, name)) {
        names.push_back(name);
      }
    }
    return names;
  }

  // Fills chosen_; every requested metric must be found.
  void choose_metrics() {
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
                 "'{}' and '{}' have no evaluation of the same name and task", a_.path, b_.path);
    if (missing.empty()) return;
    throw_error(ErrorKind::kUsage, "--metric: there is no '{}' on both sides{}; there are {}",
                missing[0], did_you_mean(missing[0], known), fmt::join(known, ", "));
  }

  ComparedReport compare_report(const Shared& shared, const std::vector<std::string>& metrics) {
    const Report& report = *shared.a[0];
    ComparedReport compared{report.task, report.name, report.examples, {}};
    for (size_t r = 1; r < a_.runs.size(); ++r) {
      if (a_.runs[r].fold != a_.runs[r - 1].fold) compared.examples += shared.a[r]->examples;
    }
    const SideExamples a(a_, shared.a), b(b_, shared.b);
    if (!a.are_missing()) compared.examples = a.count();
    for (const auto& [side, examples] : {std::make_pair(&a_, &a), std::make_pair(&b_, &b)}) {
      if (!examples->are_missing()) continue;
      warn(fmt::format("'{}' has no predictions of '{}': no interval over its examples", side->path,
                       report.name.empty() ? report.task : report.name));
    }
    const bool has_examples = !a.are_missing() && !b.are_missing();
    for (size_t r = 0; has_examples && r < (a_.has_folds() ? a_.runs.size() : 1); ++r) {
      check_same_examples(a.predictions()[r], b.predictions()[r]);
    }
    for (const std::string& name : metrics) {
      ComparedMetric metric = compare_metric(shared, name);
      if (has_examples) add_interval(a, b, metric);
      compared.metrics.push_back(std::move(metric));
      events_.progress({"compare", ++done_, total_, "metrics", {}});
    }
    return compared;
  }

  ComparedMetric compare_metric(const Shared& shared, const std::string& name) const {
    ComparedMetric metric;
    metric.name = name;
    for (const Report* report : shared.a) metric.a_values.push_back(*report->find_metric(name));
    for (const Report* report : shared.b) metric.b_values.push_back(*report->find_metric(name));
    static_cast<PairedTest&>(metric) = test_pairs(
        metric.a_values, metric.b_values, options_.samples, static_cast<uint64_t>(options_.seed));
    return metric;
  }

  void add_interval(const SideExamples& a, const SideExamples& b, ComparedMetric& metric) {
    std::string problems[2];
    const Statistic of_a = a.statistic(metric.name, problems[0]);
    const Statistic of_b = b.statistic(metric.name, problems[1]);
    for (const std::string& problem : problems) warn(problem);
    if (!of_a || !of_b) return;
    metric.interval = bootstrap_interval(
        a.count(),
        [&](const std::vector<int64_t>& positions) { return of_b(positions) - of_a(positions); },
        kIntervalConfidence, options_.samples, static_cast<uint64_t>(options_.seed));
  }

  void warn(const std::string& message) {
    std::vector<std::string>& warnings = result_.warnings;
    if (message.empty() || std::count(warnings.begin(), warnings.end(), message) > 0) return;
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

using Json = nlohmann::ordered_json;

std::string show_value(const ComparedMetric& metric, double value, bool with_sign = false) {
  return show_figure(value, is_fraction(metric.name), with_sign);
}

std::string show_spread(const ComparedMetric& metric, const Spread& spread, size_t runs) {
  const std::string mean = show_value(metric, spread.mean);
  return runs < 2 ? mean : mean + " +- " + show_value(metric, spread.deviation);
}

// Flags for the parts that a comparison has; columns and explanations depend on them.
struct Shown {
  explicit Shown(const Comparison& comparison) {
    for (const ComparedReport& report : comparison.reports) {
      for (const ComparedMetric& metric : report.metrics) {
        tests = tests || metric.t_test;
        random_signs = random_signs || (metric.permutation && !metric.permutation->exact);
        intervals = intervals || metric.interval;
      }
    }
  }
  bool decides() const { return tests && intervals; }
  bool tests = false, random_signs = false, intervals = false;
};

// The side to take: "A" or "B" if other seeds and other examples would say so too, else
// "undecided"; "-" for a metric without both tests, or that has no better end.
std::string better_side(const ComparedMetric& metric) {
  const Better better = find_metric_row(metric.name).better;
  if (!metric.t_test || !metric.interval || better == Better::kNeither) return "-";
  const bool is_above = metric.difference > 0;
  const bool is_sure = metric.t_test->p < kSignificance &&
                       (is_above ? metric.interval->low > 0 : metric.interval->high < 0);
  if (!is_sure) return "undecided";
  return is_above == (better == Better::kHigher) ? "B" : "A";
}

std::vector<std::string> table_row(const ComparedMetric& metric, const Shown& shows) {
  std::vector<std::string> row = {
      metric.name, show_spread(metric, metric.a, metric.a_values.size()),
      show_spread(metric, metric.b, metric.b_values.size()),
      fmt::format("{} {:1}", show_value(metric, metric.difference, true),
                  metric.t_test ? significance_mark(metric.t_test->p) : "")};
  if (shows.intervals) {
    row.push_back(metric.interval
                      ? fmt::format("[{}, {}]", show_value(metric, metric.interval->low, true),
                                    show_value(metric, metric.interval->high, true))
                      : "-");
  }
  if (shows.tests) {
    row.push_back(metric.t_test ? show_p(metric.t_test->p) : "-");
    row.push_back(metric.permutation ? show_p(metric.permutation->p) : "-");
  }
  if (shows.decides()) row.push_back(better_side(metric));
  return row;
}

std::string describe_side(const char* letter, const ComparedSide& side) {
  std::string text = fmt::format("{}: {}", letter, side.path);
  if (side.has_folds) return text + fmt::format(" ({} folds)\n", side.runs);
  if (side.seeds.empty()) return text + "\n";
  return text + fmt::format(" ({}, seed{} {})\n", counted(side.runs, "run"),
                            side.runs == 1 ? "" : "s", fmt::join(side.seeds, " "));
}

std::string explain(const Comparison& comparison, const Shown& shows) {
  const ComparisonOptions& options = comparison.options;
  std::string text = shows.tests || shows.intervals ? "\n" : "";
  if (shows.tests) {
    text +=
        fmt::format("p: paired over {} {}; * p < 0.05, _ p < 0.1 (t-test). Permutations: {}.\n",
                    comparison.a.runs, comparison.a.has_folds ? "folds" : "seeds",
                    shows.random_signs ? fmt::format("{} random ones", options.samples)
                                       : fmt::format("all {}", int64_t{1} << comparison.a.runs));
  }
  if (shows.intervals) {
    text +=
        fmt::format("95 %: bootstrap interval of B - A over the examples ({} samples, seed {}).\n",
                    options.samples, options.seed);
  }
  if (shows.decides()) {
    text +=
        "better: where p < 0.05 (t-test) and the interval does not contain 0; else undecided.\n";
  }
  return text;
}

Json metric_to_json(const ComparedMetric& metric, const ComparisonOptions& options) {
  const auto show = [](const Spread& spread, const std::vector<double>& values) -> Json {
    return {{"mean", spread.mean}, {"deviation", spread.deviation}, {"values", values}};
  };
  Json json = {{"metric", metric.name},
               {"a", show(metric.a, metric.a_values)},
               {"b", show(metric.b, metric.b_values)},
               {"difference", metric.difference},
               {"better", better_side(metric)}};
  if (metric.t_test) {
    // JSON has no infinity: t is null when all differences are equal.
    json["t_test"] = {
        {"t", metric.t_test->t}, {"degrees", metric.t_test->degrees}, {"p", metric.t_test->p}};
  }
  if (metric.permutation) {
    json["permutation_test"] = {{"p", metric.permutation->p},
                                {"permutations", metric.permutation->permutations},
                                {"exact", metric.permutation->exact}};
  }
  if (metric.interval) {
    json["interval"] = {{"low", metric.interval->low},
                        {"high", metric.interval->high},
                        {"confidence", kIntervalConfidence},
                        {"samples", options.samples}};
  }
  return json;
}

}  // namespace

Comparison compare_runs(const std::string& a, const std::string& b,
                        const ComparisonOptions& options, EventSink& events) {
  return Comparer(read_compared_runs(a), read_compared_runs(b), options, events).compare();
}

Comparison compare_runs(const ChosenRuns& a, const ChosenRuns& b, const ComparisonOptions& options,
                        EventSink& events) {
  return Comparer(read_compared_runs(a.name, a.folders), read_compared_runs(b.name, b.folders),
                  options, events)
      .compare();
}

std::optional<FigureInterval> example_interval(const std::vector<std::string>& folders,
                                               const std::string& metric, int64_t samples,
                                               std::string& problem) {
  const FigureName figure = split_figure_name(metric);
  ComparedRuns side = read_compared_runs(metric, folders);
  sort_runs(side);
  std::vector<const Report*> reports;
  for (const RunFiles& run : side.runs) {
    const auto found =
        std::find_if(run.reports.begin(), run.reports.end(),
                     [&](const Report& report) { return report.name == figure.evaluation; });
    problem = fmt::format("a run has no evaluation '{}'", figure.evaluation);
    if (found == run.reports.end()) return std::nullopt;
    reports.push_back(&*found);
  }
  const SideExamples examples(side, reports);
  problem = fmt::format("a run has no predictions of '{}'", figure.evaluation);
  if (examples.are_missing()) return std::nullopt;
  problem = fmt::format("{} is not computed from predictions", metric);
  const Statistic statistic = examples.statistic(figure.metric, problem);
  if (!statistic) return std::nullopt;
  problem.clear();
  return FigureInterval{
      statistic(all_positions(examples.count())),
      bootstrap_interval(examples.count(), statistic, kIntervalConfidence, samples, 1)};
}

std::string Comparison::to_table() const {
  const Shown shows(*this);
  std::string text = describe_side("A", a) + describe_side("B", b);
  for (const ComparedReport& report : reports) {
    text += fmt::format("\n{} ({}{} examples)\n", report.name.empty() ? report.task : report.name,
                        report.name.empty() ? "" : report.task + ", ", report.examples);
    TableRows rows = {{"", "A", "B", "B - A  "}};
    if (shows.intervals) rows[0].push_back("95 %");
    if (shows.tests) rows[0].insert(rows[0].end(), {"t-test p", "permutation p"});
    if (shows.decides()) rows[0].push_back("better");
    for (const ComparedMetric& metric : report.metrics) rows.push_back(table_row(metric, shows));
    text += text_table(rows, {2, "lr"});
  }
  return text + explain(*this, shows);
}

std::string Comparison::to_json() const {
  const auto show = [](const ComparedSide& side) -> Json {
    return {{"path", side.path}, {"runs", side.runs}, {"seeds", side.seeds}};
  };
  Json json = {{"a", show(a)},
               {"b", show(b)},
               {"samples", options.samples},
               {"seed", options.seed},
               {"reports", Json::array()},
               {"warnings", warnings}};
  for (const ComparedReport& report : reports) {
    Json compared = {{"task", report.task},
                     {"name", report.name},
                     {"examples", report.examples},
                     {"metrics", Json::array()}};
    for (const ComparedMetric& metric : report.metrics) {
      compared["metrics"].push_back(metric_to_json(metric, options));
    }
    json["reports"].push_back(std::move(compared));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace simile
