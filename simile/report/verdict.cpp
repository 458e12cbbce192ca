// SPDX-License-Identifier: Apache-2.0
#include "simile/report/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "simile/core/text_table.h"
#include "simile/eval/predictions.h"
#include "simile/metric/significance.h"
#include "simile/report/run_files.h"

namespace simile {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kWork = 50000000;  // examples drawn in all
constexpr uint64_t kSeed = 1;

// What one side gave an evaluation; null where it has no such metric.
struct Measured {
  const Report* report = nullptr;
  const Predictions* predictions = nullptr;
};

Measured find_metric(const Scores& scores, const FigureName& figure) {
  for (size_t i = 0; i < scores.reports.size(); ++i) {
    const Report& report = scores.reports[i];
    if (report.name == figure.evaluation && report.find_metric(figure.metric) != nullptr) {
      return {&report, &scores.predictions[i]};
    }
  }
  return {};
}

struct MeasuredMetric {
  std::string name;
  Measured start, trained;
};

// One evaluation that a gain is measured on: its metrics on both sides.
struct DrawnSet {
  int64_t examples = 0;
  std::vector<Statistic> start, trained;
};

void draw_interval(const std::map<const Report*, DrawnSet>& sets, Gain& gain) {
  int64_t examples = 0;
  for (const auto& [report, set] : sets) examples += set.examples;
  gain.samples = affordable_samples(examples, kWork);
  std::vector<double> totals(static_cast<size_t>(gain.samples), 0.0);
  uint64_t seed = kSeed;
  for (const auto& [report, set] : sets) {
    const auto difference = [&set = set](const std::vector<int64_t>& positions) {
      const auto sum_of = [&](const std::vector<Statistic>& statistics) {
        double sum = 0;
        for (const Statistic& statistic : statistics) sum += statistic(positions);
        return sum;
      };
      return sum_of(set.trained) - sum_of(set.start);
    };
    const std::vector<double> values =
        bootstrap_values(set.examples, difference, gain.samples, seed++);
    for (size_t i = 0; i < totals.size(); ++i) totals[i] += values[i];
  }
  for (double& total : totals) total /= static_cast<double>(gain.metrics.size());
  gain.interval = percentile_interval(std::move(totals), kIntervalConfidence);
}

void add_interval(const std::vector<MeasuredMetric>& metrics, Gain& gain) {
  std::map<const Report*, DrawnSet> sets;  // in the order of the reports
  std::vector<std::string> drawn;
  for (const MeasuredMetric& metric : metrics) {
    const auto [place, is_new] = sets.try_emplace(metric.start.report);
    DrawnSet& set = place->second;
    set.examples = metric.start.predictions->size();
    if (is_new) {
      const char* unit = metric.start.report->task == "ranking"    ? "queries"
                         : metric.start.predictions->right.empty() ? "texts"
                                                                   : "pairs";
      drawn.push_back(fmt::format("{} {}", set.examples, unit));
    }
    for (const auto& [side, statistics] : {std::make_pair(&metric.start, &set.start),
                                           std::make_pair(&metric.trained, &set.trained)}) {
      const Predictions& predictions = *side->predictions;
      const Statistic statistic = make_statistic(predictions, metric.name, side->report);
      if (!statistic ||
          !gives_reported(statistic, predictions, side->report->metric(metric.name))) {
        gain.no_interval = fmt::format("{} is not a metric of single examples", metric.name);
        return;
      }
      statistics->push_back(statistic);
    }
    check_same_examples(*metric.start.predictions, *metric.trained.predictions);
  }
  gain.examples = fmt::format("{}", fmt::join(drawn, " and "));
  draw_interval(sets, gain);
}

std::string show_value(const Gain& gain, double value, bool with_sign = false) {
  return show_figure(value, gain.is_fraction(), with_sign);
}

std::string show_spread(const Gain& gain, const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least == *most) return show_value(gain, *least);
  const Spread spread = measure_spread(values);
  return show_value(gain, spread.mean) + " +- " + show_value(gain, spread.deviation);
}

// What stands in brackets behind start -> trained.
std::string explain_gain(const Gain& gain, const Verdict& verdict) {
  const Spread difference = measure_spread(gain.differences());
  std::string text = show_value(gain, difference.mean, true);
  if (verdict.runs > 1) {
    text += fmt::format(" +- {} over {} {}", show_value(gain, difference.deviation), verdict.runs,
                        verdict.over);
  }
  if (gain.lower_is_better) text += ", lower is better";
  if (verdict.runs > 1) return text;
  if (verdict.start_kept > 0) return text + ": the start was kept, no later weights were better";
  if (!gain.interval) return text + "; no interval: " + gain.no_interval;
  return text + fmt::format(", 95 % interval {} to {}, paired bootstrap over {}",
                            show_value(gain, gain.interval->low, true),
                            show_value(gain, gain.interval->high, true), gain.examples);
}

Json gain_to_json(const Gain& gain) {
  const Spread difference = measure_spread(gain.differences());
  Json json = {{"metrics", gain.metrics},
               {"start", measure_spread(gain.start).mean},
               {"trained", measure_spread(gain.trained).mean},
               {"difference", difference.mean}};
  if (gain.start.size() > 1) {
    json["deviation"] = difference.deviation;
    json["differences"] = gain.differences();
  } else if (gain.interval) {
    json["interval"] = {{"low", gain.interval->low},
                        {"high", gain.interval->high},
                        {"confidence", kIntervalConfidence},
                        {"samples", gain.samples},
                        {"over", gain.examples}};
  } else {
    json["no_interval"] = gain.no_interval;
  }
  return json;
}

}  // namespace

void Scores::add(Scores more) {
  std::move(more.reports.begin(), more.reports.end(), std::back_inserter(reports));
  std::move(more.predictions.begin(), more.predictions.end(), std::back_inserter(predictions));
}

std::vector<double> Gain::differences() const {
  std::vector<double> differences;
  for (size_t i = 0; i < start.size(); ++i) differences.push_back(trained[i] - start[i]);
  return differences;
}

bool Gain::is_fraction() const {
  return !is_loss && std::all_of(metrics.begin(), metrics.end(), [](const auto& metric) {
    return simile::is_fraction(split_figure_name(metric).metric);
  });
}

std::optional<Gain> measure_gain(const std::vector<std::string>& metrics, const Scores& start,
                                 const Scores& trained) {
  Gain gain;
  gain.metrics = metrics;
  std::vector<MeasuredMetric> measured;
  std::vector<std::string> names;
  double before = 0, after = 0;
  for (const std::string& metric : metrics) {
    const FigureName figure = split_figure_name(metric);
    const Measured from = find_metric(start, figure), to = find_metric(trained, figure);
    if (from.report == nullptr || to.report == nullptr) return std::nullopt;
    measured.push_back({figure.metric, from, to});
    names.push_back(figure.evaluation + " " + figure.metric);
    before += from.report->metric(figure.metric);
    after += to.report->metric(figure.metric);
  }
  gain.title = fmt::format("{}{}", names.size() > 1 ? "mean of " : "", fmt::join(names, ", "));
  gain.start = {before / static_cast<double>(metrics.size())};
  gain.trained = {after / static_cast<double>(metrics.size())};
  add_interval(measured, gain);
  return gain;
}

std::string Verdict::to_line() const {
  if (gains.empty()) {
    return "verdict: none, as nothing was measured both on the start and on the trained model: "
           "give the recipe `evaluations`";
  }
  std::vector<std::string> shown;
  for (const Gain& gain : gains) {
    shown.push_back(fmt::format("{} {} -> {} ({})", gain.title, show_spread(gain, gain.start),
                                show_spread(gain, gain.trained), explain_gain(gain, *this)));
  }
  std::string line = fmt::format("verdict: {}", fmt::join(shown, "; "));
  if (runs > 1 && start_kept > 0) {
    line += fmt::format("; {} of {} runs kept their start", start_kept, runs);
  }
  return line;
}

std::string Verdict::to_json() const {
  using namespace run_format;
  Json json = {{kLine, to_line()},
               {kRuns, runs},
               {kStartKept, start_kept},
               {"gains", Json::array()},
               {"stages_that_kept_their_start", stages_that_kept_theirs},
               {kCauses, causes}};
  for (const Gain& gain : gains) json["gains"].push_back(gain_to_json(gain));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Verdict join_verdicts(const std::vector<Verdict>& runs, const std::string& over) {
  if (runs.size() == 1) return runs[0];
  Verdict joined = runs[0];
  joined.over = over;
  for (size_t r = 1; r < runs.size(); ++r) {
    joined.runs += runs[r].runs;
    joined.start_kept += runs[r].start_kept;
    joined.gains.resize(std::min(joined.gains.size(), runs[r].gains.size()));
    for (size_t g = 0; g < joined.gains.size(); ++g) {
      const Gain& gain = runs[r].gains[g];
      std::copy(gain.start.begin(), gain.start.end(), std::back_inserter(joined.gains[g].start));
      std::copy(gain.trained.begin(), gain.trained.end(),
                std::back_inserter(joined.gains[g].trained));
    }
    if (joined.causes.empty()) joined.causes = runs[r].causes;
    for (const std::string& stage : runs[r].stages_that_kept_theirs) {
      std::vector<std::string>& stages = joined.stages_that_kept_theirs;
      if (std::count(stages.begin(), stages.end(), stage) == 0) stages.push_back(stage);
    }
  }
  for (Gain& gain : joined.gains) {
    gain.interval.reset();
    gain.no_interval.clear();
  }
  return joined;
}

}  // namespace simile
