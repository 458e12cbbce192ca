// SPDX-License-Identifier: Apache-2.0
#include "simile/train/selection.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "simile/core/check.h"
#include "simile/core/text_table.h"

namespace simile {

EarlyStopOptions selection_rules(const SelectionOptions& options) {
  EarlyStopOptions rules = options.early_stop;
  if (rules.direction != "auto") return rules;
  const bool is_low = !options.metric.empty() && better_end(options.metric[0]) == Better::kLower;
  rules.direction = is_low ? "min" : "max";
  return rules;
}

namespace {

// The report that a metric, REPORT.METRIC, is of. Errors (kRecipe): there is none.
const Report& report_of(const std::vector<Report>& reports, const std::string& metric) {
  const std::string name = split_figure_name(metric).evaluation;
  for (const Report& report : reports) {
    if (report.name == name) return report;
  }
  throw_error(ErrorKind::kRecipe, "selection.metric '{}': there is no evaluation '{}'", metric,
              name);
}

constexpr double kRounding = 1e-12;
constexpr double kNoGradient = 1e-9;    // rounding leaves less
constexpr double kHardlyMoved = 0.002;  // of a metric; of a loss: of its first value
constexpr double kAlmostPerfect = 0.98;
constexpr double kLossFell = -0.05, kLossFellMuch = -0.3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Medians: a batch that is smaller than the others has another loss than they.
std::optional<double> relative_change(const std::vector<CurvePoint>& losses) {
  const size_t wanted = std::max<size_t>(5, losses.size() / 10);
  const size_t count = std::min(wanted, losses.size() / 2);
  if (count < 2) return std::nullopt;
  std::vector<double> first, last;
  for (size_t i = 0; i < count; ++i) {
    first.push_back(losses[i].y);
    last.push_back(losses[losses.size() - 1 - i].y);
  }
  const double before = median(std::move(first)), after = median(std::move(last));
  if (before == 0) return std::nullopt;
  return (after - before) / std::abs(before);
}

std::optional<double> mean_change(const std::vector<Curve>& training) {
  double sum = 0;
  int64_t count = 0;
  for (const Curve& curve : training) {
    if (curve.name != "loss" && curve.name.rfind("loss (", 0) != 0) continue;
    const std::optional<double> change = relative_change(curve.points);
    if (!change) continue;
    sum += *change;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

// At the steps where all metrics have a value.
std::vector<CurvePoint> mean_curve(const RunLog& log, const std::vector<std::string>& metrics) {
  std::map<double, std::pair<size_t, double>> sums;  // by step: how many, and their sum
  for (const std::string& metric : metrics) {
    for (const Curve& curve : log.evaluations) {
      if (curve.name != metric) continue;
      for (const CurvePoint& point : curve.points) {
        ++sums[point.x].first;
        sums[point.x].second += point.y;
      }
      break;
    }
  }
  std::vector<CurvePoint> mean;
  for (const auto& [step, sum] : sums) {
    if (sum.first < metrics.size()) continue;
    mean.push_back({step, sum.second / static_cast<double>(metrics.size())});
  }
  return mean;
}

// The changes of the values after the first.
struct Moves {
  explicit Moves(const StageCourse& course) {
    const double start = course.values[0].y;
    tolerance = course.is_fraction ? kHardlyMoved : kHardlyMoved * std::abs(start);
    for (size_t i = 1; i < course.values.size(); ++i) {
      const double gain = (course.values[i].y - start) * (course.lower_is_better ? -1 : 1);
      largest = std::max(largest, std::abs(gain));
      all_worse = all_worse && gain < -tolerance;
    }
  }
  double tolerance = 0, largest = 0;
  bool all_worse = true;
};

std::string show_change(const StageCourse& course) {
  if (!course.loss_change) return "";
  const double percent = 100 * *course.loss_change;
  if (std::abs(percent) < 1) return "the training loss stayed as it was";
  return fmt::format("the training loss {} by {:.0f} %", percent < 0 ? "fell" : "rose",
                     std::abs(percent));
}

}  // namespace

bool is_loss_metric(const std::string& metric) {
  return metric.rfind(std::string(kLossEvaluation) + ".", 0) == 0;
}

bool is_shown_as_fraction(const std::string& metric) {
  return !is_loss_metric(metric) && is_fraction(split_figure_name(metric).metric);
}

Better better_end(const std::string& metric) {
  return is_loss_metric(metric) ? Better::kLower
                                : find_metric_row(split_figure_name(metric).metric).better;
}

std::string name_metrics(const std::vector<std::string>& metrics) {
  return fmt::format("{}{}", metrics.size() > 1 ? "mean of " : "", fmt::join(metrics, ", "));
}

double selection_value(const std::vector<Report>& reports,
                       const std::vector<std::string>& metrics) {
  double sum = 0;
  for (const std::string& metric : metrics) {
    sum += report_of(reports, metric).metric(split_figure_name(metric).metric);
  }
  return sum / static_cast<double>(metrics.size());
}

std::string describe_selection(const SelectionOptions& options, double value, bool is_best) {
  return fmt::format("{} {}{}", name_metrics(options.metric),
                     show_figure(value, is_shown_as_fraction(options.metric[0])),
                     is_best ? " (best so far)" : "");
}

Report selection_report(const std::vector<Report>& reports,
                        const std::vector<std::string>& metrics) {
  std::vector<Report> selected;
  for (const std::string& metric : metrics) {
    selected.push_back(report_of(reports, metric));
    Report& report = selected.back();
    if (report.metrics.empty()) return {};
    report.metrics = {{"mean", report.metric(split_figure_name(metric).metric)}};
    report.task = "mean";
  }
  Report mean = mean_report(selected);
  mean.notes = {fmt::format("mean of {}", fmt::join(metrics, ", "))};
  return mean;
}

bool is_better(double value, double than, bool lower_is_better) {
  const double gain = lower_is_better ? than - value : value - than;
  return gain > kRounding * std::max(1.0, std::abs(than));
}

bool EarlyStop::update(double value) {
  const int64_t number = state_.evaluations++;
  const bool first = state_.best_evaluation < 0;
  const bool is_lower_better = options_.direction == "min";
  const bool is_best =
      std::isfinite(value) && (first || is_better(value, state_.best_value, is_lower_better));
  if (is_best) {
    state_.best_value = value;
    state_.best_evaluation = number;
  }
  const double gain = (value - state_.reference_value) * (is_lower_better ? -1 : 1);
  if (is_best && (first || gain > options_.minimum_improvement)) {
    state_.reference_value = value;
    state_.without_improvement = 0;
  } else {
    ++state_.without_improvement;
  }
  return is_best;
}

const CurvePoint& StageCourse::best() const {
  const CurvePoint* best = &values[0];
  for (const CurvePoint& point : values) {
    if (is_better(point.y, best->y, lower_is_better)) best = &point;
  }
  return *best;
}

bool StageCourse::is_start_best() const {
  return !values.empty() && values[0].x == 0 && best().x == 0;
}

StageCourse read_stage_course(const std::string& log_path, const StageOptions& options,
                              const std::vector<std::string>& metrics) {
  const RunLog log = read_run_log(log_path, options.name);
  StageCourse course;
  course.stage = options.name;
  course.metric = name_metrics(metrics);
  course.is_fraction = metrics.empty() || is_shown_as_fraction(metrics[0]);
  course.lower_is_better = selection_rules(options.selection).direction == "min";
  course.learning_rate = options.learning_rate;
  course.steps = log.steps;
  course.values = mean_curve(log, metrics);
  course.loss_change = mean_change(log.training);
  for (const Curve& curve : log.training) {
    if (curve.name.rfind("gradient_norm", 0) != 0) continue;
    for (const CurvePoint& point : curve.points) {
      course.largest_gradient = std::max(course.largest_gradient.value_or(0), point.y);
    }
  }
  return course;
}

std::string StageCourse::show(double value) const { return show_figure(value, is_fraction); }

std::vector<std::string> likely_causes(const StageCourse& course) {
  if (course.steps == 0) return {"no step was taken: `steps` and `epochs` of the stage are 0"};
  if (course.largest_gradient && *course.largest_gradient < kNoGradient) {
    return {
        "no step had a gradient, so the loss moves no weight on these data: look at their columns, "
        "at batch_size, and at the loss with its threshold or weight"};
  }
  if (course.values.size() < 2) return {};
  if (!course.is_start_best()) {
    return {fmt::format(
        "training went on too long: {} was best at step {:.0f} of {} ({}), but the last weights "
        "were kept; name it as selection.metric with keep: best, or train for fewer steps",
        course.metric, course.best().x, course.steps, course.show(course.best().y))};
  }
  std::vector<std::string> causes;
  const Moves moves(course);
  if (course.is_fraction && !course.lower_is_better && course.values[0].y >= kAlmostPerfect) {
    causes.push_back(
        fmt::format("the start is almost at its best already ({} of 100): little is left to gain",
                    course.show(course.values[0].y)));
  }
  const bool has_fallen = course.loss_change && *course.loss_change < kLossFell;
  if (moves.largest <= moves.tolerance) {
    causes.push_back(
        fmt::format("the learning rate {:g} is too low, or {} steps are too few: {} moved by at "
                    "most {}; try learning_rate {:g}, or more epochs",
                    course.learning_rate, course.steps, course.metric, course.show(moves.largest),
                    10 * course.learning_rate));
    if (course.loss_change && *course.loss_change <= kLossFellMuch) {
      causes.push_back(
          fmt::format("what the training data teach does not bear on {}: {}; are they of the same "
                      "kind as the evaluation's, with the right columns and loss?",
                      course.metric, show_change(course)));
    }
  } else if (moves.all_worse) {
    const std::string because =
        course.loss_change && !has_fallen ? ", and " + show_change(course) : "";
    causes.push_back(fmt::format(
        "the learning rate {:g} is too high: {} was worse at every evaluation{}; try {:g}",
        course.learning_rate, course.metric, because, course.learning_rate / 10));
    causes.push_back(
        fmt::format("the training data do not fit what {} asks{}: are the pairs, their labels and "
                    "columns, and the loss those of the evaluation's task?",
                    course.metric, has_fallen ? " (" + show_change(course) + ")" : ""));
    if (has_fallen) std::reverse(causes.end() - 2, causes.end());
  } else {
    causes.push_back(
        fmt::format("the start is hard to better with these data: {} went at most {} away from it; "
                    "more data, or a learning rate other than {:g}, may bring a gain",
                    course.metric, course.show(moves.largest), course.learning_rate));
  }
  // The standard error of a mean of that many numbers, half of them 0 and half of them 1.
  const double noise = 0.5 / std::sqrt(static_cast<double>(course.examples));
  if (course.is_fraction && course.examples > 0 && moves.largest > moves.tolerance &&
      moves.largest < noise) {
    causes.push_back(
        fmt::format("{} examples hardly tell differences of {}: more of them may show a gain",
                    course.examples, course.show(moves.largest)));
  }
  const size_t later = course.values.size() - 1;
  if (later <= 2 && moves.largest > moves.tolerance) {
    causes.push_back(
        fmt::format("{} after the start: better weights may lie between; set selection.every_steps",
                    later == 1 ? "there was one evaluation" : "there were two evaluations"));
  }
  return causes;
}

}  // namespace simile
